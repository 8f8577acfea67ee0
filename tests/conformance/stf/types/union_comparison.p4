/* Unions are equal when both hold nothing valid, or the same member with equal fields (section 8.20). */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}
header other_t {
    bit<8> x;
}
header_union either_t {
    byte_t a;
    other_t b;
}
struct headers_t {
    byte_t what;
    byte_t verdict;
}

struct metadata_t { }

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.what);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        either_t one;
        either_t two;
        hdr.verdict.setValid();
        if (one == two) { hdr.verdict.x[0:0] = 1; }
        one.a = { hdr.what.x };
        if (one == two) { hdr.verdict.x[1:1] = 1; }
        two.b = { hdr.what.x };
        if (one == two) { hdr.verdict.x[2:2] = 1; }
        two.a = { hdr.what.x };
        if (one == two) { hdr.verdict.x[3:3] = 1; }
        two.a.x = two.a.x + 1;
        if (one != two) { hdr.verdict.x[4:4] = 1; }
        one.a.setInvalid();
        two.a.setInvalid();
        if (one == two) { hdr.verdict.x[5:5] = 1; }
    }
}

#include "../include/rest.p4"
