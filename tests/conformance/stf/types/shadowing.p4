/* Inner declarations hide outer ones for their block only (section 6.9). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> inner;
    bit<8> outer;
    bit<8> field;
}

#include "../include/request_reply.p4"

const bit<8> y = 1;
bit<8> x_of_block(in bit<8> x) {
    return x * 2;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    bit<8> y = 9;

    apply {
        bit<8> x = hdr.request.a;
        {
            bit<8> x = x_of_block(3);
            hdr.reply.inner = x;
            x = 100;
        }
        hdr.reply.outer = x;
        hdr.reply.field = y;
    }
}

#include "../include/rest.p4"
