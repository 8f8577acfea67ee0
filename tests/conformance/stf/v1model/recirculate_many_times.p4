/* A packet may go round again and again; packet_length is the deparsed packet's. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}
struct headers_t {
    byte_t added;
    byte_t a;
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
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.a.x != 0) {
            hdr.added.setValid();
            hdr.added.x = hdr.a.x - 1;
            recirculate_preserving_field_list(1);
        } else {
            hdr.a.x = (bit<8>)sm.packet_length;
        }
    }
}

#include "../include/rest.p4"
