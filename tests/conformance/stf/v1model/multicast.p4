/* Multicast: copies by node and ascending port, egress_rid and instance_type 5 in each, everything ingress wrote kept. */
#include "../include/start.p4"

header info_t {
    bit<16> rid;
    bit<8> type;
    bit<8> port;
    bit<8> kept;
}
header byte_t {
    bit<8> x;
}
struct headers_t {
    info_t info;
    byte_t a;
}

struct metadata_t {
    bit<8> kept;
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
        sm.mcast_grp = (bit<16>)hdr.a.x;
        meta.kept = 0x5a;
        hdr.a.x = hdr.a.x + 1;
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.info.setValid();
        hdr.info.rid = sm.egress_rid;
        hdr.info.type = (bit<8>)sm.instance_type;
        hdr.info.port = (bit<8>)sm.egress_port;
        hdr.info.kept = meta.kept;
        meta.kept = 0;
    }
}

#include "../include/rest.p4"
