/* Arithmetic at widths that no machine has. */
#include "../include/start.p4"

header request_t {
    bit<1> a1;
    bit<1> b1;
    bit<3> a3;
    bit<3> b3;
    bit<7> a7;
    bit<7> b7;
    bit<9> a9;
    bit<9> b9;
    bit<16> a16;
    bit<16> b16;
    bit<31> a31;
    bit<31> b31;
    bit<33> a33;
    bit<33> b33;
    bit<48> a48;
    bit<48> b48;
    bit<65> a65;
    bit<65> b65;
    bit<127> a127;
    bit<127> b127;
    bit<0> pad;
}

header reply_t {
    bit<1> sum1;
    bit<1> product1;
    bit<3> sum3;
    bit<3> product3;
    bit<7> sum7;
    bit<7> product7;
    bit<9> sum9;
    bit<9> product9;
    bit<16> sum16;
    bit<16> product16;
    bit<31> sum31;
    bit<31> product31;
    bit<33> sum33;
    bit<33> product33;
    bit<48> sum48;
    bit<48> product48;
    bit<65> sum65;
    bit<65> product65;
    bit<127> sum127;
    bit<127> product127;
    bit<0> pad;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.sum1 = hdr.request.a1 + hdr.request.b1;
        hdr.reply.product1 = hdr.request.a1 * hdr.request.b1;
        hdr.reply.sum3 = hdr.request.a3 + hdr.request.b3;
        hdr.reply.product3 = hdr.request.a3 * hdr.request.b3;
        hdr.reply.sum7 = hdr.request.a7 + hdr.request.b7;
        hdr.reply.product7 = hdr.request.a7 * hdr.request.b7;
        hdr.reply.sum9 = hdr.request.a9 + hdr.request.b9;
        hdr.reply.product9 = hdr.request.a9 * hdr.request.b9;
        hdr.reply.sum16 = hdr.request.a16 + hdr.request.b16;
        hdr.reply.product16 = hdr.request.a16 * hdr.request.b16;
        hdr.reply.sum31 = hdr.request.a31 + hdr.request.b31;
        hdr.reply.product31 = hdr.request.a31 * hdr.request.b31;
        hdr.reply.sum33 = hdr.request.a33 + hdr.request.b33;
        hdr.reply.product33 = hdr.request.a33 * hdr.request.b33;
        hdr.reply.sum48 = hdr.request.a48 + hdr.request.b48;
        hdr.reply.product48 = hdr.request.a48 * hdr.request.b48;
        hdr.reply.sum65 = hdr.request.a65 + hdr.request.b65;
        hdr.reply.product65 = hdr.request.a65 * hdr.request.b65;
        hdr.reply.sum127 = hdr.request.a127 + hdr.request.b127;
        hdr.reply.product127 = hdr.request.a127 * hdr.request.b127;
    }
}

#include "../include/rest.p4"
