/* Headers from lists and named fields become valid; {#} is an invalid one (sections 8.14, 8.17). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r0;
    bit<8> r1;
    bit<8> r2;
    bit<8> r3;
}

#include "../include/request_reply.p4"

header small_t {
    bit<8> x;
    bit<8> y;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        small_t s = { hdr.request.a, 5 };
        hdr.reply.r0 = s.isValid() ? s.x + s.y : 8w0;
        s = (small_t){#};
        hdr.reply.r1 = s.isValid() ? 8w1 : 8w0;
        s = { y = 1, x = hdr.request.a };
        hdr.reply.r2 = s.isValid() ? s.x - s.y : 8w0;
        hdr.reply.r3 = s == (small_t){#} ? 8w1 : 8w0;
        s = {#};
        hdr.reply.r3 = hdr.reply.r3 + (s == (small_t){#} ? 8w2 : 8w0);
    }
}

#include "../include/rest.p4"
