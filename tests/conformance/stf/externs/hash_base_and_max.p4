/* base + H mod max; a max of 0 gives the base; the result is cut to its field (bmv2). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<16> ten;
    bit<16> zero;
    bit<8> cut;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hash(hdr.reply.ten, HashAlgorithm.crc16, 16w100, { hdr.request.a }, 16w10);
        hash(hdr.reply.zero, HashAlgorithm.crc16, 16w7, { hdr.request.a }, 16w0);
        hash(hdr.reply.cut, HashAlgorithm.crc16, 16w0x3c8, { hdr.request.a }, 16w3);
    }
}

#include "../include/rest.p4"
