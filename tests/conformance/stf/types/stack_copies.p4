/* Stacks are assigned and compared element by element, validity included. */
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
        item_t[3] other;
        hdr.verdict.r[0:0] = (bit<1>)(other == hdr.items);
        other = hdr.items;
        hdr.verdict.r[1:1] = (bit<1>)(other == hdr.items);
        other[0].x = other[0].x + hdr.request.what;
        hdr.verdict.r[2:2] = (bit<1>)(other == hdr.items);
        hdr.items = other;
    }
}

#include "../include/rest.p4"
