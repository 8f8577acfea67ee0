/* Two clone calls in a pass: the last one counts, with its session and its list. */
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
        clone_preserving_field_list(CloneType.I2E, 5, 1);
        clone(CloneType.I2E, 6);
        sm.egress_spec = 2;
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
