/* exit in egress after mark_to_drop still drops; exit in ingress keeps what was set. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}

struct headers_t {
    byte_t a;
    byte_t b;
}

struct metadata_t { }

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
        sm.egress_spec = 1;
        if (hdr.a.x == 1) {
            mark_to_drop(sm);
            exit;
        }
        if (hdr.a.x == 2) { exit; }
        sm.egress_spec = 2;
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.a.x == 3) {
            mark_to_drop(sm);
            exit;
        }
    }
}

#include "../include/rest.p4"
