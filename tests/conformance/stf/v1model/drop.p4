/* mark_to_drop in ingress and in egress; undone by a later egress_spec in ingress. */
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
        if (hdr.a.x == 1) { mark_to_drop(sm); }
        if (hdr.a.x == 2) {
            mark_to_drop(sm);
            sm.egress_spec = 4;
        }
        if (hdr.a.x == 3) { sm.egress_spec = 511; }
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.a.x == 4) { mark_to_drop(sm); }
        if (hdr.a.x == 5) { sm.egress_spec = 511; }
        if (hdr.a.x == 6) {
            mark_to_drop(sm);
            sm.egress_spec = 9;
        }
    }
}

#include "../include/rest.p4"
