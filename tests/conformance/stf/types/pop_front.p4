/* pop_front moves elements down and makes the last ones invalid. */
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
        if (hdr.request.what == 1) {
            hdr.items.pop_front(1);
        } else if (hdr.request.what == 2) {
            hdr.items.pop_front(2);
        } else if (hdr.request.what == 9) {
            hdr.items.pop_front(9);
        }
        hdr.verdict.r[0:0] = (bit<1>)hdr.items[0].isValid();
        hdr.verdict.r[1:1] = (bit<1>)hdr.items[1].isValid();
        hdr.verdict.r[2:2] = (bit<1>)hdr.items[2].isValid();
    }
}

#include "../include/rest.p4"
