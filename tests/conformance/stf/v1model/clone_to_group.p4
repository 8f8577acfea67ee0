/* A session with a multicast group: one clone for each of its copies, with their egress_rid and instance_type 1; a port besides comes last. */
#include "../include/start.p4"

header info_t {
    bit<8> type;
    bit<8> rid;
}
header byte_t {
    bit<8> x;
}
struct headers_t {
    info_t info;
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
        clone(CloneType.I2E, 5);
        mark_to_drop(sm);
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.info.setValid();
        hdr.info.type = (bit<8>)sm.instance_type;
        hdr.info.rid = (bit<8>)sm.egress_rid;
    }
}

#include "../include/rest.p4"
