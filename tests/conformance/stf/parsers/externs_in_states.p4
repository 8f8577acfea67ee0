/* log_msg and assert in parser states. */
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

struct metadata_t { }

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.first);
        assert(hdr.first.x != 0xff);
        log_msg("first is {}", { hdr.first.x });
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
