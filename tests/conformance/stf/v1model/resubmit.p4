/* resubmit_preserving_field_list: the packet as it came enters the parser again, instance_type 6 in ingress (0 in egress, as of every unicast), metadata 0 but the list; the first pass sends nothing. */
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
        sm.egress_spec = 2;
        meta.type = (bit<8>)sm.instance_type;
        if (sm.instance_type == 0) {
            meta.kept = 7;
            meta.lost = 8;
            resubmit_preserving_field_list(1);
            hdr.a.x = 0xee;
        }
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.info.setValid();
        hdr.info.type_in_ingress = meta.type;
        hdr.info.type_in_egress = (bit<8>)sm.instance_type;
        hdr.info.ingress_port = (bit<8>)sm.ingress_port;
        hdr.info.kept = meta.kept;
        hdr.info.lost = meta.lost;
    }
}

#include "../include/rest.p4"
