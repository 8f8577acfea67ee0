/* Slices as l-values write their bits and leave the others, also in turn and across each other. */
#include "../include/start.p4"

header request_t {
    bit<16> a;
    bit<8> b;
}

header reply_t {
    bit<16> x;
    bit<16> y;
    bit<32> z;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.x = hdr.request.a;
        hdr.reply.x[11:4] = hdr.request.b;
        hdr.reply.y = hdr.request.a;
        hdr.reply.y[7:0] = hdr.reply.y[15:8];
        hdr.reply.y[15:12] = 4w9;
        hdr.reply.z[31:24] = hdr.request.b;
        hdr.reply.z[0:0] = 1;
        hdr.reply.z[27:20][3:0] = 4w0xe;
    }
}

#include "../include/rest.p4"
