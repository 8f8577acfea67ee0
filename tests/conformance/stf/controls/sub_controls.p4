/* A control applied twice with different arguments, and two instances with state of their own. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> x;
    bit<8> y;
    bit<8> count1;
    bit<8> count2;
}

#include "../include/request_reply.p4"

control Step(in bit<8> a, out bit<8> r, out bit<8> count) {
    register<bit<8>>(1) calls;
    apply {
        r = a + 1;
        bit<8> n;
        calls.read(n, 0);
        n = n + 1;
        calls.write(0, n);
        count = n;
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Step() one;
    Step() two;

    apply {
        one.apply(hdr.request.a, hdr.reply.x, hdr.reply.count1);
        one.apply(hdr.request.b, hdr.reply.y, hdr.reply.count1);
        two.apply(hdr.request.b, hdr.reply.y, hdr.reply.count2);
    }
}

#include "../include/rest.p4"
