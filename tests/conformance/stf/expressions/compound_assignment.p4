/* x op= e for every operator that has one, also on slices. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> r0;
    bit<8> r1;
    bit<8> r2;
    bit<8> r3;
    bit<8> r4;
    bit<8> r5;
    bit<8> r6;
    bit<8> r7;
    bit<8> r8;
    bit<8> r9;
    bit<8> r10;
    bit<8> r11;
    bit<8> r12;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.r0 = hdr.request.a;  hdr.reply.r0 += hdr.request.b;
        hdr.reply.r1 = hdr.request.a;  hdr.reply.r1 -= hdr.request.b;
        hdr.reply.r2 = hdr.request.a;  hdr.reply.r2 *= hdr.request.b;
        hdr.reply.r3 = hdr.request.a;  hdr.reply.r3 /= 3;
        hdr.reply.r4 = hdr.request.a;  hdr.reply.r4 %= 3;
        hdr.reply.r5 = hdr.request.a;  hdr.reply.r5 &= hdr.request.b;
        hdr.reply.r6 = hdr.request.a;  hdr.reply.r6 |= hdr.request.b;
        hdr.reply.r7 = hdr.request.a;  hdr.reply.r7 ^= hdr.request.b;
        hdr.reply.r8 = hdr.request.a;  hdr.reply.r8 <<= 2;
        hdr.reply.r9 = hdr.request.a;  hdr.reply.r9 >>= 2;
        hdr.reply.r10 = hdr.request.a;  hdr.reply.r10 |+|= hdr.request.b;
        hdr.reply.r11 = hdr.request.a;  hdr.reply.r11 |-|= hdr.request.b;
        hdr.reply.r12 = hdr.request.a;  hdr.reply.r12[3:0] += 1;
    }
}

#include "../include/rest.p4"
