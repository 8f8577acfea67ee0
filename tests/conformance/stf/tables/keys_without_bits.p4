/* Fields and keys of type bit<0>: any value is 0, and entries match it. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<0> none;
    bit<8> b;
}

header reply_t {
    bit<8> r;
}

#define OWN_METADATA
struct metadata_t {
    bit<0> none;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action set(bit<8> v) {
        hdr.reply.r = v;
    }

    table t {
        key = {
            hdr.request.none: exact;
            hdr.request.a: exact;
            meta.none: ternary;
        }
        actions = { set; NoAction; }
        const entries = {
            (0, 1, 0): set(7);
            (0, 2, _): set(8);
        }
    }

    apply {
        meta.none = hdr.request.none;
        t.apply();
    }
}

#include "../include/rest.p4"
