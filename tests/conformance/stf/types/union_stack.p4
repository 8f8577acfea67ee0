/* A stack of header unions, filled by next in either form. */
#include "../include/start.p4"

header kind_t {
    bit<8> kind;
}

header short_t {
    bit<8> kind;
    bit<8> x;
}

header long_t {
    bit<8> kind;
    bit<16> x;
}

header_union option_t {
    short_t short;
    long_t long;
}

struct metadata_t { }

struct headers_t {
    kind_t verdict;
    option_t[3] options;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        transition select(packet.lookahead<kind_t>().kind) {
            1: short;
            2: long;
            default: accept;
        }
    }
    state short {
        packet.extract(hdr.options.next.short);
        transition start;
    }
    state long {
        packet.extract(hdr.options.next.long);
        transition start;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.verdict.setValid();
        hdr.verdict.kind[0:0] = (bit<1>)hdr.options[0].isValid();
        hdr.verdict.kind[1:1] = (bit<1>)hdr.options[1].isValid();
        hdr.verdict.kind[2:2] = (bit<1>)hdr.options[2].isValid();
        hdr.verdict.kind[7:7] = (bit<1>)(sm.parser_error == error.StackOutOfBounds);
        if (hdr.options[1].long.isValid()) {
            hdr.options[1].long.x = hdr.options[1].long.x + 1;
        }
        if (hdr.options[0].short.isValid()) {
            hdr.options[0].short.setInvalid();
        }
    }
}

#include "../include/rest.p4"
