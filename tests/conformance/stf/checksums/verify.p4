/* verify_checksum: a wrong sum sets checksum_error, nothing more; skipped when the condition is false or the header invalid. */
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

#define OWN_VERIFY
control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ip.a != 9, { hdr.ip.a, hdr.ip.b, hdr.ip.c }, hdr.ip.checksum, HashAlgorithm.csum16);
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.verdict.setValid();
        hdr.verdict.x = (bit<8>)sm.checksum_error;
    }
}

#include "../include/rest.p4"
