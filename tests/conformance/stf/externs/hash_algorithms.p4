/* crc32, crc16, csum16, xor16 and identity over fields joined without gaps; custom CRCs start as the plain ones. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<16> b;
    bit<32> c;
}

header reply_t {
    bit<32> crc32;
    bit<16> crc16;
    bit<16> csum16;
    bit<16> xor16;
    bit<64> identity;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hash(hdr.reply.crc32, HashAlgorithm.crc32, 32w0, { hdr.request.a, hdr.request.b, hdr.request.c }, 64w0x100000000);
        hash(hdr.reply.crc16, HashAlgorithm.crc16, 16w0, { hdr.request.a, hdr.request.b, hdr.request.c }, 32w0x10000);
        hash(hdr.reply.csum16, HashAlgorithm.csum16, 16w0, { hdr.request.a, hdr.request.b, hdr.request.c }, 32w0x10000);
        hash(hdr.reply.xor16, HashAlgorithm.xor16, 16w0, { hdr.request.a, hdr.request.b, hdr.request.c }, 32w0x10000);
        hash(hdr.reply.identity, HashAlgorithm.identity, 64w0, { hdr.request.a, hdr.request.b, hdr.request.c }, 64w0xffffffffffffffff);
    }
}

#include "../include/rest.p4"
