/* Variables, assignments, calls of functions, conditions and blocks in parser states (sections 13.4, 13.5). */
#include "../include/start.p4"

bit<8> twice(in bit<8> a) {
    return a + a;
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
    bit<8> sum;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    bit<8> sum = 1;
    const bit<8> LIMIT = 3;
    state start {
        packet.extract(hdr.first);
        sum = sum + twice(hdr.first.x);
        bit<8> extra;
        if (hdr.first.x > LIMIT) {
            extra = 16;
            packet.extract(hdr.second);
        } else if (hdr.first.x == LIMIT) {
            extra = 32;
        } else {
            extra = 64;
        }
        {
            bit<8> inner = extra;
            sum = sum + inner;
        }
        meta.sum = sum;
        transition select(sum) {
            65: third;
            default: accept;
        }
    }
    state third {
        packet.extract(hdr.third);
        meta.sum = meta.sum | 0x80;
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.verdict.setValid();
        hdr.verdict.x = meta.sum;
    }
}

#include "../include/rest.p4"
