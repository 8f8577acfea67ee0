/* verify(false, e) stops the parser with e, one of core.p4's or the program's own; the packet goes on to ingress. */
#include "../include/start.p4"

error { TooSmall, Odd }

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
        verify(hdr.first.x >= 4, error.TooSmall);
        packet.extract(hdr.second);
        verify(hdr.second.x[0:0] == 0, error.Odd);
        packet.extract(hdr.third);
        verify(hdr.third.x != 0, error.NoMatch);
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

        if (sm.parser_error == error.TooSmall) { hdr.verdict.x = hdr.verdict.x | 0x10; }
        if (sm.parser_error == error.Odd) { hdr.verdict.x = hdr.verdict.x | 0x20; }
        if (sm.parser_error == error.NoMatch) { hdr.verdict.x = hdr.verdict.x | 0x40; }
    }
}

#include "../include/rest.p4"
