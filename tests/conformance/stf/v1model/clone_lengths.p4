/* packet_length of clones is the arrival's length again; their bytes count as that too. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}
struct headers_t {
    byte_t length;
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
        hdr.length.setValid();
        clone(CloneType.I2E, 5);
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    counter(1, CounterType.packets_and_bytes) sizes;

    apply {
        bit<8> length = (bit<8>)sm.packet_length;
        hdr.length.setValid();
        hdr.length.x = length;
        sizes.count(0);
    }
}

#include "../include/rest.p4"
