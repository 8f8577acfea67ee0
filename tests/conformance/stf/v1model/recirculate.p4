/* recirculate_preserving_field_list: the deparsed packet enters the parser again, instance_type 4 in ingress, metadata 0 but the list. */
#include "../include/start.p4"

header info_t {
    bit<8> type_in_ingress;
    bit<8> type_in_egress;
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
    bit<8> type;
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
        meta.type = (bit<8>)sm.instance_type;
        if (sm.instance_type == 0) {
            sm.egress_spec = 2;
            meta.kept = 7;
            meta.lost = 8;
        } else {
            sm.egress_spec = 3;
        }
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (meta.type == 0 && hdr.a.x != 1) {
            hdr.a.x = hdr.a.x + 1;
            recirculate_preserving_field_list(1);
        } else {
            hdr.info.setValid();
            hdr.info.type_in_ingress = meta.type;
            hdr.info.type_in_egress = (bit<8>)sm.instance_type;
            hdr.info.ingress_port = (bit<8>)sm.ingress_port;
            hdr.info.kept = meta.kept;
            hdr.info.lost = meta.lost;
        }
    }
}

#include "../include/rest.p4"
