/* Sums, differences and products wrap at the width (section 8.6). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> sum;
    bit<8> difference;
    bit<8> product;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.sum = hdr.request.a + hdr.request.b;
        hdr.reply.difference = hdr.request.a - hdr.request.b;
        hdr.reply.product = hdr.request.a * hdr.request.b;
    }
}

#include "../include/rest.p4"
