/* Narrowing cuts, widening fills with zeros or with the sign (section 8.11). */
#include "../include/start.p4"

header request_t {
    bit<8> u;
    int<8> i;
    bit<16> w;
}

header reply_t {
    bit<16> uu;
    int<16> ii;
    bit<4> narrow;
    int<4> inarrow;
    bit<8> i_as_bits;
    int<8> u_as_int;
    bit<16> via_sign;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.uu = (bit<16>)hdr.request.u;
        hdr.reply.ii = (int<16>)hdr.request.i;
        hdr.reply.narrow = (bit<4>)hdr.request.w;
        hdr.reply.inarrow = (int<4>)hdr.request.i;
        hdr.reply.i_as_bits = (bit<8>)hdr.request.i;
        hdr.reply.u_as_int = (int<8>)hdr.request.u;
        hdr.reply.via_sign = (bit<16>)(int<16>)(int<8>)hdr.request.u;
    }
}

#include "../include/rest.p4"
