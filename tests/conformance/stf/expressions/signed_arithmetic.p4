/* int<8> wraps in two's complement; comparisons look at the sign (section 8.7). */
#include "../include/start.p4"

header request_t {
    int<8> a;
    int<8> b;
}

header reply_t {
    int<8> sum;
    int<8> difference;
    int<8> product;
    int<8> minus;
    int<8> complement;
    bit<8> order;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.sum = hdr.request.a + hdr.request.b;
        hdr.reply.difference = hdr.request.a - hdr.request.b;
        hdr.reply.product = hdr.request.a * hdr.request.b;
        hdr.reply.minus = -hdr.request.a;
        hdr.reply.complement = ~hdr.request.a;
        hdr.reply.order = 0;
        if (hdr.request.a < hdr.request.b) { hdr.reply.order[3:3] = 1; }
        if (hdr.request.a <= hdr.request.b) { hdr.reply.order[2:2] = 1; }
        if (hdr.request.a > hdr.request.b) { hdr.reply.order[1:1] = 1; }
        if (hdr.request.a >= hdr.request.b) { hdr.reply.order[0:0] = 1; }
    }
}

#include "../include/rest.p4"
