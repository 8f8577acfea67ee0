/* A stack's next starts from the beginning when the packet is parsed again. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}
struct headers_t {
    byte_t[2] items;
}

struct metadata_t { }

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.items.next);
        packet.extract(hdr.items.next);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (sm.instance_type == 0) {
            resubmit_preserving_field_list(1);
        } else {
            sm.egress_spec = sm.parser_error == error.NoError ? 9w1 : 9w2;
            hdr.items[0].x = hdr.items[0].x + hdr.items[1].x;
        }
    }
}

#include "../include/rest.p4"
