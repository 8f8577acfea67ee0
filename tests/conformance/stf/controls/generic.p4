/* A generic control, applied with its types written and inferred. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<16> b;
}

header reply_t {
    bit<8> x;
    bit<16> y;
}

#include "../include/request_reply.p4"

control Copy<T>(in T a, out T b) {
    apply {
        b = a;
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Copy<bit<8>>() bytes;

    apply {
        bytes.apply(hdr.request.a, hdr.reply.x);
        Copy<bit<16>>.apply(hdr.request.b, hdr.reply.y);
    }
}

#include "../include/rest.p4"
