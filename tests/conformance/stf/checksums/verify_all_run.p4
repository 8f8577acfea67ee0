/* All verify_checksum calls run, and any of them that fails sets the flag; also after a parser error. */
#include "../include/start.p4"

header ip_t {
    bit<8> a;
    bit<8> sum;
}
header byte_t {
    bit<8> x;
}
struct headers_t {
    byte_t verdict;
    ip_t one;
    ip_t two;
}

struct metadata_t { }

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.one);
        packet.extract(hdr.two);
        transition accept;
    }
}

#define OWN_VERIFY
control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(true, { hdr.one.a }, hdr.one.sum, HashAlgorithm.identity);
        verify_checksum(true, { hdr.two.a }, hdr.two.sum, HashAlgorithm.identity);
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
