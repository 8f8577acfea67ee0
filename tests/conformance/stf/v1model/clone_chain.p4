/* An egress clone may be cloned again in egress; what its field list keeps can count. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}

struct headers_t {
    byte_t a;
    byte_t b;
}

struct metadata_t {
    @field_list(1)
    bit<8> round;
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
        sm.egress_spec = 1;
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<8> round = meta.round;
        hdr.b.setValid();
        hdr.b.x = round;
        if (round < 3) {
            meta.round = round + 1;
            clone_preserving_field_list(CloneType.E2E, 5, 1);
        }
    }
}

#include "../include/rest.p4"
