/* User metadata is 0 for every packet, whatever the one before left there. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}

struct headers_t {
    byte_t a;
    byte_t b;
}

struct metadata_t {
    bit<8> x;
    bool y;
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
        hdr.b.setValid();
        hdr.b.x = meta.x;
        meta.x = hdr.a.x;
        meta.y = true;
    }
}

#include "../include/rest.p4"
