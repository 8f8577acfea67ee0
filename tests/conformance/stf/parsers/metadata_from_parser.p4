/* What the parser writes to user and standard metadata is there in ingress. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}

header word_t {
    bit<16> x;
}

struct headers_t {
    byte_t verdict;
    byte_t first;
    word_t second;
    byte_t third;
}

struct metadata_t {
    bit<8> x;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.first);
        meta.x = hdr.first.x + 1;
        sm.egress_spec = 3;
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.first.x = meta.x;
    }
}

#include "../include/rest.p4"
