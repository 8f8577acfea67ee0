/* A header_union: extracting or setting one member makes the others invalid; isValid of the union; emit (7.2.6). */
#include "../include/start.p4"

header tag_t {
    bit<8> kind;
}

header short_t {
    bit<8> x;
}

header long_t {
    bit<16> x;
}

header_union either_t {
    short_t short;
    long_t long;
}

header verdict_t {
    bit<8> valid;
}

struct metadata_t { }

struct headers_t {
    verdict_t verdict;
    tag_t tag;
    either_t either;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.tag);
        transition select(hdr.tag.kind) {
            1: short;
            2: long;
            3: both;
            default: accept;
        }
    }
    state short {
        packet.extract(hdr.either.short);
        transition accept;
    }
    state long {
        packet.extract(hdr.either.long);
        transition accept;
    }
    state both {
        packet.extract(hdr.either.short);
        packet.extract(hdr.either.long);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.verdict.setValid();
        hdr.verdict.valid[0:0] = (bit<1>)hdr.either.isValid();
        hdr.verdict.valid[4:4] = (bit<1>)hdr.either.short.isValid();
        hdr.verdict.valid[5:5] = (bit<1>)hdr.either.long.isValid();
        if (hdr.tag.kind == 1) {
            hdr.either.short.x = hdr.either.short.x + 1;
        } else if (hdr.tag.kind == 4) {
            hdr.either.long.setValid();
            hdr.either.long.x = 0xabcd;
        } else if (hdr.tag.kind == 5) {
            hdr.either.long.setValid();
            hdr.either.short.setValid();
        } else if (hdr.tag.kind == 3) {
            hdr.either.long.setInvalid();
        }
    }
}

#include "../include/rest.p4"
