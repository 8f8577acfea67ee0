/* A literal takes the other operand's type, on either side, in comparisons too. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    int<8> b;
}

header reply_t {
    bit<8> x;
    int<8> y;
    bit<8> z;
    bit<8> c;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.x = 255 - hdr.request.a;
        hdr.reply.y = 1 + hdr.request.b - 3;
        hdr.reply.z = 3 * hdr.request.a;
        hdr.reply.c = 5 < hdr.request.a && hdr.request.b > -2 ? 8w1 : 8w0;
    }
}

#include "../include/rest.p4"
