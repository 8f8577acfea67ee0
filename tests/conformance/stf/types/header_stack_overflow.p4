/* next on a full stack: error.StackOutOfBounds; what was extracted stays, the rest is payload. */
#include "../include/start.p4"

header request_t {
    bit<8> count;
    bit<8> what;
}

header item_t {
    bit<8> x;
}

header verdict_t {
    bit<8> r;
}

struct metadata_t { }

struct headers_t {
    verdict_t verdict;
    request_t request;
    item_t[3] items;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    bit<8> left;
    state start {
        packet.extract(hdr.request);
        left = hdr.request.count;
        transition select(left) {
            0: accept;
            default: item;
        }
    }
    state item {
        packet.extract(hdr.items.next);
        left = left - 1;
        transition select(left) {
            0: accept;
            default: item;
        }
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.verdict.setValid();
        hdr.verdict.r = sm.parser_error == error.StackOutOfBounds ? 8w1 : 8w0;
    }
}

#include "../include/rest.p4"
