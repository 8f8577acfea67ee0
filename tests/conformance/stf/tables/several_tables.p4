/* Tables one after the other, a key that the action of the one before wrote. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#define OWN_METADATA
struct metadata_t {
    bit<8> next;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action set(bit<8> v) {
        hdr.reply.r = v;
    }

    action choose(bit<8> n) {
        meta.next = n;
    }
    table u {
        key = { meta.next: exact; }
        actions = { set; NoAction; }
    }

    table t {
        key = {
            hdr.request.a: exact;
        }
        actions = { choose; NoAction; }
    }

    apply {
        t.apply();
        u.apply();
    }
}

#include "../include/rest.p4"
