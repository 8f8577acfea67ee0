/* entries without priorities: the first one wins (section 14.2.1.5). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action set(bit<8> v) {
        hdr.reply.r = v;
    }

    table t {
        key = {
            hdr.request.a: ternary;
        }
        actions = { set; NoAction; }
        entries = {
            0x11 &&& 0xff: set(1);
            0x10 &&& 0xf0: set(2);
        }
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
