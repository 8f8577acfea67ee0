/* bmv2: an ingress clone is parsed again from its bytes, with ingress_port set; what the parser put into metadata is lost, and ingress_port is 0 in egress. */
#include "../include/start.p4"

header info_t {
    bit<8> ingress_port;
    bit<8> from_parser;
    bit<8> second;
}
header byte_t {
    bit<8> x;
}
struct headers_t {
    info_t info;
    byte_t a;
    byte_t b;
}

struct metadata_t {
    bit<8> from_parser;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.a);
        meta.from_parser = hdr.a.x;
        transition select(sm.ingress_port) {
            3: second;
            default: accept;
        }
    }
    state second {
        packet.extract(hdr.b);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        clone(CloneType.I2E, 5);
        hdr.b.setInvalid();
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.info.setValid();
        hdr.info.ingress_port = (bit<8>)sm.ingress_port;
        hdr.info.from_parser = meta.from_parser;
        hdr.info.second = hdr.b.isValid() ? 8w1 : 8w0;
    }
}

#include "../include/rest.p4"
