/* A struct as a field of a header: its fields lie in it in order. */
#include "../include/start.p4"
struct inner_t {
    bit<8> x;
    bit<4> y;
    bit<4> z;
}

header request_t {
    inner_t one;
    bit<8> a;
}

header reply_t {
    bit<8> sum;
    inner_t two;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.sum = hdr.request.one.x + (bit<8>)hdr.request.one.y;
        hdr.reply.two = hdr.request.one;
        hdr.reply.two.y = 0xf;
    }
}

#include "../include/rest.p4"
