/* const declarations of every scalar kind, built from each other, in declarations and bodies. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> x;
    bit<8> y;
    bit<8> z;
    bit<8> w;
}

#include "../include/request_reply.p4"

const bit<8> FIRST = 10;
const bit<8> SECOND = FIRST * 3;
const bool YES = FIRST < SECOND && !(FIRST == 11);
const int<8> SIGNED = -3;

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    const bit<8> INNER = (bit<8>)(FIRST[3:1]);

    apply {
        const bit<8> LOCAL = SECOND + 1;
        hdr.reply.x = hdr.request.a + LOCAL;
        hdr.reply.y = YES ? FIRST : SECOND;
        hdr.reply.z = (bit<8>)SIGNED;
        hdr.reply.w = INNER;
    }
}

#include "../include/rest.p4"
