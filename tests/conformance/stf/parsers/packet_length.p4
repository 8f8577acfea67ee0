/* packet.length() is the packet's length in bytes, wherever the parser stands (section 13.8.4). */
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
    bit<32> length;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.first);
        meta.length = packet.length();
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.verdict.setValid();
        hdr.verdict.x = (bit<8>)meta.length;
    }
}

#include "../include/rest.p4"
