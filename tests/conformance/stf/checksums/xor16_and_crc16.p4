/* Checksums with other algorithms. */
#include "../include/start.p4"

header sums_t {
    bit<8> a;
    bit<16> b;
    bit<16> xor;
    bit<16> crc;
}
struct headers_t {
    sums_t h;
}

struct metadata_t { }

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.h);
        transition accept;
    }
}

#define OWN_COMPUTE
control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(true, { hdr.h.a, hdr.h.b }, hdr.h.xor, HashAlgorithm.xor16);
        update_checksum(true, { hdr.h.a, hdr.h.b }, hdr.h.crc, HashAlgorithm.crc16);
    }
}

#include "../include/rest.p4"
