/* Whole headers and structs handed to sub-controls, changed there, validity included. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> x;
    bit<8> y;
}

#include "../include/request_reply.p4"

header extra_t {
    bit<8> x;
}
control Inner(inout headers_t hdr, out extra_t extra) {
    apply {
        hdr.reply.x = hdr.request.a + 1;
        if (hdr.request.a == 5) {
            extra.setValid();
            extra.x = 9;
        }
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Inner() inner;

    apply {
        extra_t extra;
        bit<8> before = extra.isValid() ? 8w1 : 8w0;
        inner.apply(hdr, extra);
        hdr.reply.y = extra.isValid() ? extra.x : before;
    }
}

#include "../include/rest.p4"
