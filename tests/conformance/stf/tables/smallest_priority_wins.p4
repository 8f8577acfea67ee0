/* largest_priority_wins = false: the smallest number wins, also of const entries of one's own numbering. */
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
        largest_priority_wins = false;
        entries = {
            priority = 10: 0x01 &&& 0x0f: set(1);
            priority = 20: 0x10 &&& 0xf0: set(2);
            priority = 30: 0x11 &&& 0xff: set(3);
        }
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
