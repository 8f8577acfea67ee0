/* Structs, tuples, constants and computed values as hash data. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<16> struct_;
    bit<16> tuple_;
    bit<16> mixed;
}

#include "../include/request_reply.p4"

struct pair_t {
    bit<8> x;
    bit<8> y;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        pair_t p = { hdr.request.a, hdr.request.b };
        tuple<bit<8>, bit<8>> t = { hdr.request.b, hdr.request.a };
        hash(hdr.reply.struct_, HashAlgorithm.crc16, 16w0, p, 32w0x10000);
        hash(hdr.reply.tuple_, HashAlgorithm.crc16, 16w0, t, 32w0x10000);
        hash(hdr.reply.mixed, HashAlgorithm.crc16, 16w0, { 8w5, hdr.request.a + hdr.request.b, 16w0x1234 }, 32w0x10000);
    }
}

#include "../include/rest.p4"
