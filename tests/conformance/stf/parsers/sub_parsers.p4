/* Parsers that apply other parsers, with constructor parameters and inout arguments, once directly (section 13.10). */
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
    bit<4> calls;
}

parser Third(packet_in packet, inout headers_t hdr) {
    state start {
        packet.extract(hdr.third);
        transition accept;
    }
}

parser Second(packet_in packet, inout headers_t hdr, inout bit<4> calls)(bool bytes) {
    state start {
        transition select(bytes) {
            true: byte;
            false: word;
        }
    }
    state byte {
        calls = calls + 5;
        packet.extract(hdr.third);
        transition accept;
    }
    state word {
        calls = calls + 2;
        packet.extract(hdr.second);
        transition accept;
    }
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Second(true) bytes;
    Second(false) words;
    state start {
        packet.extract(hdr.first);
        meta.calls = 0;
        transition select(hdr.first.x) {
            1: with_bytes;
            2: with_words;
            3: directly;
            default: accept;
        }
    }
    state with_bytes {
        bytes.apply(packet, hdr, meta.calls);
        transition done;
    }
    state with_words {
        words.apply(packet, hdr, meta.calls);
        transition done;
    }
    state directly {
        Third.apply(packet, hdr);
        transition done;
    }
    state done {
        meta.calls = meta.calls + 8;
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
        hdr.verdict.x[7:4] = meta.calls;
    }
}

#include "../include/rest.p4"
