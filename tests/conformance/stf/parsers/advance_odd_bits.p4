/* advance by an amount that is not a whole number of bytes: ParserInvalidArgument. */
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
        packet.advance((bit<32>)hdr.first.x);
        packet.extract(hdr.second);
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

        if (sm.parser_error == error.NoError) { hdr.verdict.x[7:4] = 0; }
        else if (sm.parser_error == error.PacketTooShort) { hdr.verdict.x[7:4] = 1; }
        else if (sm.parser_error == error.NoMatch) { hdr.verdict.x[7:4] = 2; }
        else if (sm.parser_error == error.StackOutOfBounds) { hdr.verdict.x[7:4] = 3; }
        else if (sm.parser_error == error.HeaderTooShort) { hdr.verdict.x[7:4] = 4; }
        else if (sm.parser_error == error.ParserTimeout) { hdr.verdict.x[7:4] = 5; }
        else if (sm.parser_error == error.ParserInvalidArgument) { hdr.verdict.x[7:4] = 6; }
        else { hdr.verdict.x[7:4] = 15; }
    }
}

#include "../include/rest.p4"
