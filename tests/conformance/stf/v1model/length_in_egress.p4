/* bmv2: packet_length in egress is the arrival's length and what setValid and setInvalid on headers have changed since; nothing else counts. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}
header long_t {
    bit<32> x;
}
struct headers_t {
    byte_t a;
    long_t one;
    long_t two;
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
        if (hdr.a.x == 1) {
            hdr.one.setValid();
            hdr.one.setValid();
        } else if (hdr.a.x == 2) {
            hdr.one.setValid();
            hdr.two.setValid();
            hdr.one.setInvalid();
            hdr.one.setInvalid();
        } else if (hdr.a.x == 3) {
            hdr.one.setValid();
            hdr.two = hdr.one;
        } else if (hdr.a.x == 4) {
            hdr.a.setInvalid();
        }
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.a.isValid()) {
            hdr.a.x = (bit<8>)sm.packet_length;
        } else {
            hdr.a.setValid();
            hdr.a.x = 1;
            if (sm.packet_length != 1) { hdr.a.x = 0xff; }
        }
    }
}

#include "../include/rest.p4"
