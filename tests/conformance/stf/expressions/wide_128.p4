/* 128-bit fields, as IPv6 addresses are. */
#include "../include/start.p4"

header request_t {
    bit<128> a;
    bit<128> b;
}

header reply_t {
    bit<128> sum;
    bit<128> difference;
    bit<128> product;
    bit<128> shifted;
    bit<8> flags;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.sum = hdr.request.a + hdr.request.b;
        hdr.reply.difference = hdr.request.a - hdr.request.b;
        hdr.reply.product = hdr.request.a * hdr.request.b;
        hdr.reply.shifted = (hdr.request.a << 65) | (hdr.request.b >> 70);
        hdr.reply.flags = (hdr.request.a > hdr.request.b ? 8w1 : 0) | (hdr.request.a == hdr.request.b ? 8w2 : 0);
    }
}

#include "../include/rest.p4"
