/* A varbit that is too wide: HeaderTooShort; no whole bytes: ParserInvalidArgument; too few bytes: PacketTooShort. */
#include "../include/start.p4"

header length_t {
    bit<8> bits;
}

header options_t {
    varbit<32> data;
}

header verdict_t {
    bit<8> code;
    bit<8> valid;
}

struct metadata_t { }

struct headers_t {
    verdict_t verdict;
    length_t length;
    options_t options;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.length);
        packet.extract(hdr.options, (bit<32>)hdr.length.bits);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.verdict.setValid();
        hdr.verdict.valid = hdr.options.isValid() ? 8w1 : 8w0;
        if (sm.parser_error == error.NoError) { hdr.verdict.code = 0xa0; }
        if (sm.parser_error == error.PacketTooShort) { hdr.verdict.code = 0xa1; }
        if (sm.parser_error == error.HeaderTooShort) { hdr.verdict.code = 0xa4; }
        if (sm.parser_error == error.ParserInvalidArgument) { hdr.verdict.code = 0xa6; }
    }
}

#include "../include/rest.p4"
