/* Constant amounts, one beyond the width; and a constant shifted by a run-time amount. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> by;
}

header reply_t {
    bit<8> up3;
    bit<8> down3;
    bit<8> gone;
    bit<8> one;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.up3 = hdr.request.a << 3;
        hdr.reply.down3 = hdr.request.a >> 3;
        hdr.reply.gone = (hdr.request.a << 8) | (hdr.request.a >> 9);
        hdr.reply.one = 8w1 << hdr.request.by;
    }
}

#include "../include/rest.p4"
