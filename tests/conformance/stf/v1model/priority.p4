/* bmv2 without priority queues: a packet with a priority other than 0 is dropped. */
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
        sm.priority = hdr.a.x[2:0];
    }
}

#include "../include/rest.p4"
