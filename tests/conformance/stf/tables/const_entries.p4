/* const entries: the first that matches in the order of the program (section 14.2.1.4); masks, ranges, _ and default as key sets. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<16> b;
    bit<8> c;
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
            hdr.request.a: exact;
            hdr.request.b: ternary;
            hdr.request.c: range;
        }
        actions = { set; NoAction; }
        const entries = {
            (1, 0x0203, 0 .. 9): set(1);
            (1, 0x0200 &&& 0xff00, 5): set(2);
            (1, _, _): set(3);
            (2, default, 1 .. 5): set(4);
            (3, 0x1000, 0): set(5);
            (0x04, _, 0 .. 255): set(v = 6);
        }
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
