/* A loop of states that a counter ends, into metadata only. */
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
    bit<8> left;
    bit<8> sum;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.first);
        meta.left = hdr.first.x;
        transition select(meta.left) {
            0: accept;
            default: item;
        }
    }
    state item {
        meta.sum = meta.sum + packet.lookahead<bit<8>>();
        packet.advance(8);
        meta.left = meta.left - 1;
        transition select(meta.left) {
            0: accept;
            default: item;
        }
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.verdict.setValid();
        hdr.verdict.x = meta.sum;
    }
}

#include "../include/rest.p4"
