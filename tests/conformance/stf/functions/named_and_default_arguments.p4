/* Arguments by name in any order, parameters with default values (section 6.8.2). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r0;
    bit<8> r1;
    bit<8> r2;
    bit<8> r3;
    bit<8> r4;
}

#include "../include/request_reply.p4"

bit<8> minus(in bit<8> a = 100, in bit<8> b = 2) {
    return a - b;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.r0 = minus(b = 1, a = hdr.request.a);
        hdr.reply.r1 = minus(hdr.request.a);
        hdr.reply.r2 = minus(a = hdr.request.a);
        hdr.reply.r3 = minus(hdr.request.a, 5);
        hdr.reply.r4 = minus();
    }
}

#include "../include/rest.p4"
