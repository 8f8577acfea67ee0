/* exit in ingress: egress runs all the same (the flag is cleared between). */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}

struct metadata_t { }

struct headers_t {
    byte_t a;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.a);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 2;
        if (hdr.a.x == 1) { exit; }
        hdr.a.x = hdr.a.x + 1;
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.a.x = hdr.a.x + 0x10;
        if (hdr.a.x == 0x11) { exit; }
        hdr.a.x = hdr.a.x + 0x20;
    }
}

#include "../include/rest.p4"
