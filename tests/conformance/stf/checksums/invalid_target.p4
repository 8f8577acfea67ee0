/* Updating a checksum in a header that is invalid is not seen, and makes it not valid. */
#include "../include/start.p4"

header ip_t {
    bit<8> a;
    bit<8> b;
    bit<16> checksum;
    bit<16> c;
}
header byte_t {
    bit<8> x;
}
struct headers_t {
    byte_t verdict;
    ip_t ip;
}

struct metadata_t { }

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        transition select(packet.lookahead<bit<8>>()) {
            0xff: accept;
            default: ip;
        }
    }
    state ip {
        packet.extract(hdr.ip);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.ip.isValid() && hdr.ip.a == 5) {
            hdr.verdict.setValid();
            hdr.ip.setInvalid();
        }
    }
}

#define OWN_COMPUTE
control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(true, { hdr.ip.a, hdr.ip.b, hdr.ip.c }, hdr.ip.checksum, HashAlgorithm.csum16);
    }
}

#include "../include/rest.p4"
