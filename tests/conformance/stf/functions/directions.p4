/* in is a copy, inout copies in and out, out starts afresh; the caller's variables change at the return (section 6.8). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> result;
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

#include "../include/request_reply.p4"

bit<8> f(in bit<8> x, inout bit<8> y, out bit<8> z) {
    bit<8> before = y;
    y = y + 11;
    z = x + 2;
    return x + before;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<8> a = hdr.request.a;
        bit<8> b = hdr.request.b;
        bit<8> c = 99;
        hdr.reply.result = f(a, b, c);
        hdr.reply.a = a;
        hdr.reply.b = b;
        hdr.reply.c = c;
    }
}

#include "../include/rest.p4"
