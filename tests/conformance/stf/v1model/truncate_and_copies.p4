/* bmv2: truncation belongs to the packet it was called for: multicast copies, clones and resubmitted packets are whole. */
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
        truncate(2);
        if (hdr.a.x == 1) { sm.mcast_grp = 1; }
        if (hdr.a.x == 2) { clone(CloneType.I2E, 5); }
        if (hdr.a.x == 3 && sm.instance_type == 0) { resubmit_preserving_field_list(1); }
        sm.egress_spec = 1;
    }
}

#include "../include/rest.p4"
