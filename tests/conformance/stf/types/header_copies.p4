/* Header assignment copies fields and validity; an invalid source makes the target invalid and leaves its bytes (bmv2). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> copied;
    bit<8> valid;
    bit<8> invalid;
    bit<8> left;
    bit<8> apart;
}

#include "../include/request_reply.p4"

header small_t {
    bit<8> x;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        small_t one = { hdr.request.a };
        small_t two = one;
        hdr.reply.copied = two.x;
        hdr.reply.valid = two.isValid() ? 8w1 : 8w0;
        one.x = 77;
        hdr.reply.apart = two.x;
        small_t none;
        two = none;
        hdr.reply.invalid = two.isValid() ? 8w1 : 8w0;
        hdr.reply.left = two.x;
    }
}

#include "../include/rest.p4"
