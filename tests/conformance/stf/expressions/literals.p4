/* Bases, underscores, widths and signs of number literals (section 6.4.3). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<32> hex;
    bit<16> binary;
    bit<16> octal;
    bit<16> decimal;
    bit<8> wide;
    int<8> negative;
    bit<8> sized;
    bit<16> big;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.hex = 0xDEAD_beef;
        hdr.reply.binary = 0b1010_0000_0000_0101;
        hdr.reply.octal = 0o17_7;
        hdr.reply.decimal = 0d1_000;
        hdr.reply.wide = 8w0xFF - 8w0b11;
        hdr.reply.negative = -8s5;
        hdr.reply.sized = 8w0o17 + hdr.request.a;
        hdr.reply.big = 10_00;
    }
}

#include "../include/rest.p4"
