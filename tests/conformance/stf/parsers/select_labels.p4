/* select: single values, masks, ranges, sets of several keys, _ and default; the first that matches counts (section 13.6). */
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
    bit<8> way;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.first);
        packet.extract(hdr.second);
        transition select(hdr.first.x, hdr.second.x[15:8]) {
            (1, 1): one;
            (1, _): two;
            (0x10 &&& 0xf0, 3): three;
            (0x20 .. 0x2f, 0x80 .. 0xff): four;
            (_, 7): five;
            default: six;
        }
    }
    state one { meta.way = 1; transition accept; }
    state two { meta.way = 2; transition accept; }
    state three { meta.way = 3; transition accept; }
    state four { meta.way = 4; transition accept; }
    state five { meta.way = 5; transition accept; }
    state six { meta.way = 6; transition accept; }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.verdict.setValid();
        hdr.verdict.x = meta.way;
    }
}

#include "../include/rest.p4"
