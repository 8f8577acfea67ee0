/* minSizeInBits and its three companions are compile-time numbers (section 9). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<16> bits;
    bit<16> bytes;
    bit<16> stack;
    bit<16> most;
}

#include "../include/request_reply.p4"

header four_t {
    bit<32> x;
}
header odd_t {
    bit<8> length;
    varbit<32> rest;
}
struct stack_t {
    four_t[3] all;
    odd_t odd;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.bits = (bit<16>)hdr.reply.minSizeInBits();
        hdr.reply.bytes = (bit<16>)hdr.reply.maxSizeInBytes();
        stack_t s;
        hdr.reply.stack = (bit<16>)s.all.minSizeInBytes();
        hdr.reply.most = (bit<16>)s.odd.maxSizeInBits();
    }
}

#include "../include/rest.p4"
