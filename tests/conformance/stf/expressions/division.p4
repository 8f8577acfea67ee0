/* Quotient and remainder of unsigned run-time values; by zero both are 0, where bmv2's process would end. */
#include "../include/start.p4"

header request_t {
    bit<16> a;
    bit<16> b;
}

header reply_t {
    bit<16> quotient;
    bit<16> remainder;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.quotient = hdr.request.a / hdr.request.b;
        hdr.reply.remainder = hdr.request.a % hdr.request.b;
    }
}

#include "../include/rest.p4"
