/* ++ puts the left operand on top; the left operand's sign is the result's. */
#include "../include/start.p4"

header request_t {
    bit<4> a;
    bit<12> b;
    int<8> c;
    bit<8> d;
}

header reply_t {
    bit<16> ab;
    bit<16> ba;
    bit<16> cd;
    bit<8> below;
    bit<24> triple;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.ab = hdr.request.a ++ hdr.request.b;
        hdr.reply.ba = hdr.request.b ++ hdr.request.a;
        int<16> cd = hdr.request.c ++ hdr.request.d;
        hdr.reply.cd = (bit<16>)cd;
        hdr.reply.below = cd < 0 ? 8w1 : 8w0;
        hdr.reply.triple = hdr.request.a ++ hdr.request.b ++ hdr.request.d;
    }
}

#include "../include/rest.p4"
