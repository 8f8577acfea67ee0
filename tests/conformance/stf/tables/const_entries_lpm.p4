/* const entries of a table with an lpm key: the longest prefix, whatever the order. */
#include "../include/start.p4"

header request_t {
    bit<16> a;
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
            hdr.request.a: lpm;
        }
        actions = { set; NoAction; }
        const entries = {
            0x1000 &&& 0xf000: set(1);
            0x1200 &&& 0xff00: set(2);
            0x1234: set(3);
            _: set(4);
        }
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
