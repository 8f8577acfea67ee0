/* One table in both branches of an if, and in a switch: wherever it is applied, the same follows. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action add(bit<8> value) {
        hdr.request.b = hdr.request.b + value;
    }

    table t {
        key = {
            hdr.request.a + hdr.request.b: exact @name("sum");
        }
        actions = { add; NoAction; }
    }

    apply {
        if (hdr.request.a == 1) {
            t.apply();
        } else if (hdr.request.a == 2) {
            hdr.request.b = hdr.request.b + 1;
            t.apply();
        } else {
            switch (hdr.request.b) {
                5: { t.apply(); }
                6: { hdr.request.b = 7; t.apply(); }
                default: { hdr.request.a = 0xff; }
            }
        }
        hdr.reply.r = hdr.request.b;
    }
}

#include "../include/rest.p4"
