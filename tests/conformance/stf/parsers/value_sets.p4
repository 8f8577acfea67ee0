/* Parser value sets: empty at first, filled by the control plane, of plain values and of structs (section 13.11). */
#include "../include/start.p4"

struct pair_t {
    @match(exact) bit<8> x;
    @match(ternary) bit<8> y;
}

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

struct metadata_t { }

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    value_set<bit<8>>(4) wanted;
    value_set<pair_t>(4) pairs;
    state start {
        packet.extract(hdr.first);
        packet.extract(hdr.second);
        transition select(hdr.first.x) {
            wanted: third;
            default: look;
        }
    }
    state look {
        transition select(hdr.second.x[15:8], hdr.second.x[7:0]) {
            (1, 1): accept;
            pairs: third;
            default: accept;
        }
    }
    state third {
        packet.extract(hdr.third);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.verdict.setValid();
        hdr.verdict.x[0:0] = (bit<1>)hdr.first.isValid();
        hdr.verdict.x[1:1] = (bit<1>)hdr.second.isValid();
        hdr.verdict.x[2:2] = (bit<1>)hdr.third.isValid();
    }
}

#include "../include/rest.p4"
