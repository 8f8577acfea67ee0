/* A digest leaves even if its packet is dropped or resubmitted; one called in egress never does. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}

struct headers_t {
    byte_t a;
    byte_t b;
}

struct metadata_t { }

struct seen_t {
    bit<8> x;
    bit<8> y;
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
        if (hdr.a.x == 1) {
            digest<seen_t>(1, { hdr.a.x, (bit<8>)sm.instance_type });
            mark_to_drop(sm);
        } else if (sm.instance_type == 0) {
            digest<seen_t>(1, { hdr.a.x, (bit<8>)sm.instance_type });
            resubmit_preserving_field_list(1);
        }
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        digest<seen_t>(1, { 9, 9 });
    }
}

#include "../include/rest.p4"
