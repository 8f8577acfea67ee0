/* ingress_port and packet_length in ingress; egress_port and packet_length in egress; egress_spec never written is port 0. */
#include "../include/start.p4"

header info_t {
    bit<16> ingress_port;
    bit<16> length;
    bit<16> egress_port;
    bit<16> egress_length;
    bit<16> instance_type;
}
header byte_t {
    bit<8> x;
}
struct headers_t {
    info_t info;
    byte_t a;
}

struct metadata_t {
    bit<32> length;
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
        meta.length = sm.packet_length;
        if (hdr.a.x != 0) { sm.egress_spec = (bit<9>)hdr.a.x; }
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<32> length = sm.packet_length;
        hdr.info.setValid();
        hdr.info.ingress_port = (bit<16>)sm.ingress_port;
        hdr.info.length = (bit<16>)meta.length;
        hdr.info.egress_port = (bit<16>)sm.egress_port;
        hdr.info.egress_length = (bit<16>)length;
        hdr.info.instance_type = (bit<16>)sm.instance_type;
    }
}

#include "../include/rest.p4"
