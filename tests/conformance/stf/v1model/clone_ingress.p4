/* clone(I2E): a copy of the packet as it came, with instance_type 1 and all metadata 0, through egress to the session's port. */
#include "../include/start.p4"

header info_t {
    bit<8> type;
    bit<8> ingress_port;
    bit<8> kept;
    bit<8> lost;
}
header byte_t {
    bit<8> x;
}
struct headers_t {
    info_t info;
    byte_t a;
}

struct metadata_t {
    @field_list(1)
    bit<8> kept;
    bit<8> lost;
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
        meta.kept = 7;
        meta.lost = 8;
        sm.egress_spec = 2;
        if (hdr.a.x != 0) { clone(CloneType.I2E, (bit<32>)hdr.a.x); }
        hdr.a.x = 0xee;
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.info.setValid();
        hdr.info.type = (bit<8>)sm.instance_type;
        hdr.info.ingress_port = (bit<8>)sm.ingress_port;
        hdr.info.kept = meta.kept;
        hdr.info.lost = meta.lost;
    }
}

#include "../include/rest.p4"
