/* Structs from lists, from {name = value} in any order, with and without the type's name (section 8.12, 8.13). */
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
}

#include "../include/request_reply.p4"

struct pair_t {
    bit<8> x;
    bit<8> y;
}
struct both_t {
    pair_t pair;
    bit<8> rest;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        pair_t p = { hdr.request.a, hdr.request.b };
        pair_t q = { y = hdr.request.a, x = hdr.request.b };
        pair_t swapped = { p.y, p.x };
        hdr.reply.r0 = p.x;
        hdr.reply.r1 = q.x;
        hdr.reply.r2 = swapped.x;
        swapped = (pair_t){ y = 1, x = 2 };
        hdr.reply.r3 = swapped.x;
        both_t b = { { 3, hdr.request.a }, 5 };
        hdr.reply.r4 = b.pair.y + b.rest;
        p = { p.y, p.x };
        hdr.reply.r5 = p.x;
    }
}

#include "../include/rest.p4"
