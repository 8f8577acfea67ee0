/* Fields that don't fill bytes are joined bit by bit and filled up with zeros at the end. */
#include "../include/start.p4"

header request_t {
    bit<3> a;
    bit<9> b;
    bit<4> pad;
}

header reply_t {
    bit<16> crc;
    bit<16> identity;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hash(hdr.reply.crc, HashAlgorithm.crc16, 16w0, { hdr.request.a, hdr.request.b }, 32w0x10000);
        hash(hdr.reply.identity, HashAlgorithm.identity, 16w0, { hdr.request.a, hdr.request.b }, 32w0x10000);
    }
}

#include "../include/rest.p4"
