/* Operands and arguments are evaluated from left to right (section 6.7). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> first;
    bit<8> second;
    bit<8> third;
    bit<8> list;
}

#include "../include/request_reply.p4"

bit<8> next(inout bit<8> n) {
    n = n + 1;
    return n;
}
bit<8> minus(in bit<8> a, in bit<8> b) {
    return a - b;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<8> n = hdr.request.a;
        hdr.reply.first = next(n) - 2 * next(n);
        hdr.reply.second = minus(next(n), next(n));
        hdr.reply.third = n + next(n);
        bit<8> x = next(n);
        hdr.reply.list = x + next(n) * 16;
    }
}

#include "../include/rest.p4"
