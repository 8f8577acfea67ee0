/* truncate cuts what is sent; the smallest of several counts; a length beyond the packet changes nothing. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}

struct headers_t {
    byte_t a;
    byte_t b;
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
        if (hdr.a.x == 1) { truncate(4); }
        if (hdr.a.x == 2) {
            truncate(3);
            truncate(5);
        }
        if (hdr.a.x == 3) { truncate(100); }
        if (hdr.a.x == 4) { truncate(0 + 1); }
    }
}

#include "../include/rest.p4"
