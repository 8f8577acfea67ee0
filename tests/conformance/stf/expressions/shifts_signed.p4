/* Right shifts of int<> keep the sign, and end at 0 or -1. */
#include "../include/start.p4"

header request_t {
    int<16> a;
    bit<8> by;
}

header reply_t {
    int<16> up;
    int<16> down;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.up = hdr.request.a << hdr.request.by;
        hdr.reply.down = hdr.request.a >> hdr.request.by;
    }
}

#include "../include/rest.p4"
