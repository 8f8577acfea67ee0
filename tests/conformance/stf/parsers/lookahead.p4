/* lookahead of bits, of a struct and of a header reads without moving; too far ahead is PacketTooShort. */
#include "../include/start.p4"

struct peek_t {
    bit<4> high;
    bit<12> low;
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

struct metadata_t {
    bit<8> seen;
    bit<12> low;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        bit<8> byte = packet.lookahead<bit<8>>();
        peek_t peek = packet.lookahead<peek_t>();
        meta.seen = byte + (bit<8>)peek.high;
        meta.low = peek.low;
        word_t whole = packet.lookahead<word_t>();
        packet.extract(hdr.first);
        transition select(whole.x[7:0], packet.lookahead<bit<8>>()) {
            (9, _): accept;
            (0x20 &&& 0xf0, 0x20 .. 0x2f): second;
            default: third;
        }
    }
    state second {
        packet.extract(hdr.second);
        transition accept;
    }
    state third {
        packet.extract(hdr.third);
        bit<16> more = packet.lookahead<bit<16>>();
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

        hdr.verdict.x[7:4] = sm.parser_error == error.PacketTooShort ? 4w15 : meta.seen[3:0] ^ meta.low[3:0];
    }
}

#include "../include/rest.p4"
