/* entries with priorities: the largest wins; one without gets the one before less the delta. */
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
        priority_delta = 10;
        entries = {
            priority = 100: 0x01 &&& 0x0f: set(1);
            priority = 200: 0x10 &&& 0xf0: set(2);
            priority = 300: 0x11 &&& 0xff: set(3);
            0x20 &&& 0xf3: set(5);
            priority = 50: 0x02 &&& 0x0f: set(4);
        }
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
