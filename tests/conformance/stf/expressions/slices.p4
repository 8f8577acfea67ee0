/* e[high:low] as a value; of an int<> it is bits. */
#include "../include/start.p4"

header request_t {
    bit<16> a;
    int<8> b;
}

header reply_t {
    bit<4> top;
    bit<8> middle;
    bit<4> low;
    bit<1> bit5;
    bit<7> pad;
    bit<8> sign;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.top = hdr.request.a[15:12];
        hdr.reply.middle = hdr.request.a[11:4];
        hdr.reply.low = hdr.request.a[3:0];
        hdr.reply.bit5 = hdr.request.a[5:5];
        hdr.reply.pad = 0;
        bit<4> upper = hdr.request.b[7:4];
        hdr.reply.sign = (bit<8>)upper;
    }
}

#include "../include/rest.p4"
