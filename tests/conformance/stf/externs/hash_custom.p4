/* crc32_custom and crc16_custom begin with the parameters of crc32 and crc16. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<32> crc32;
    bit<16> crc16;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hash(hdr.reply.crc32, HashAlgorithm.crc32_custom, 32w0, { hdr.request.a, hdr.request.b }, 64w0x100000000);
        hash(hdr.reply.crc16, HashAlgorithm.crc16_custom, 16w0, { hdr.request.a, hdr.request.b }, 32w0x10000);
    }
}

#include "../include/rest.p4"
