/* Assigning a member of a union, and a whole union. */
#include "../include/start.p4"

header request_t {
    bit<8> kind;
    bit<8> value;
}

header byte_t {
    bit<8> x;
}

header word_t {
    bit<16> x;
}

header_union either_t {
    byte_t short;
    word_t long;
}

struct metadata_t { }

struct headers_t {
    request_t request;
    either_t one;
    either_t two;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.request);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        byte_t b = { hdr.request.value };
        word_t w = { 8w1 ++ hdr.request.value };
        word_t none;
        hdr.one.short = b;
        if (hdr.request.kind == 1) { hdr.one.long = w; }
        if (hdr.request.kind == 2) { hdr.one.long = none; }
        hdr.two = hdr.one;
        if (hdr.request.kind == 3) { hdr.one.short.setInvalid(); }
    }
}

#include "../include/rest.p4"
