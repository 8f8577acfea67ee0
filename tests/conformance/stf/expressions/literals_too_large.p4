/* A literal that does not fit is cut, with a warning (p4c), both with and without a width. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> cut;
    bit<4> four;
    bit<4> rest;
    int<8> wrapped;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.cut = 0x1ff + hdr.request.a;
        hdr.reply.four = 4w0x1e;
        hdr.reply.rest = 17;
        hdr.reply.wrapped = 200;
    }
}

#include "../include/rest.p4"
