/* bmv2: in a resubmitted or recirculated pass ingress_port and the ingress timestamp read 0; packet_length is right. */
#include "../include/start.p4"

header info_t {
    bit<8> type;
    bit<8> port;
    bit<8> time_is_zero;
    bit<8> length;
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
        sm.egress_spec = 1;
        if (sm.instance_type == 0) {
            if (hdr.a.x == 1) { resubmit_preserving_field_list(1); }
        } else {
            hdr.info.setValid();
            hdr.info.type = (bit<8>)sm.instance_type;
            hdr.info.port = (bit<8>)sm.ingress_port;
            hdr.info.time_is_zero = sm.ingress_global_timestamp == 0 ? 8w1 : 8w0;
            hdr.info.length = (bit<8>)sm.packet_length;
        }
    }
}

#include "../include/rest.p4"
