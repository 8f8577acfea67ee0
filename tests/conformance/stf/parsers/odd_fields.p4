/* Headers whose fields start and end inside bytes, and cross them. */
#include "../include/start.p4"

header odd_t {
    bit<3> a;
    bit<13> b;
    bit<1> c;
    bit<33> d;
    int<6> e;
}
struct headers_t {
    odd_t odd;
}

struct metadata_t { }

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.odd);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.odd.a = hdr.odd.a + 1;
        hdr.odd.b = hdr.odd.b + 1;
        hdr.odd.c = ~hdr.odd.c;
        hdr.odd.d = hdr.odd.d + 1;
        hdr.odd.e = hdr.odd.e - 1;
    }
}

#include "../include/rest.p4"
