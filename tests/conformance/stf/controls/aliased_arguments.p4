/* A sub-control's out parameters are copied back at its end only, and in order. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> x;
    bit<8> y;
}

#include "../include/request_reply.p4"

control Inner(out bit<8> first, inout bit<8> second) {
    apply {
        first = second;
        second = second + 20;
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Inner() inner;

    apply {
        hdr.reply.x = 1;
        inner.apply(hdr.reply.x, hdr.reply.x);
        inner.apply(hdr.reply.y, hdr.request.a);
        hdr.reply.y = hdr.reply.y + hdr.request.a;
    }
}

#include "../include/rest.p4"
