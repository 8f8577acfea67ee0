/* digest: a sample for the control plane, copied when it is called, one for each pass of ingress. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}

struct headers_t {
    byte_t a;
    byte_t b;
}

struct metadata_t { }

struct seen_t {
    bit<8> x;
    bit<9> port;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.a);
        packet.extract(hdr.b);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.a.x != 0) {
            seen_t sample = { hdr.a.x, sm.ingress_port };
            digest(1, sample);
            hdr.a.x = 0xee;
        }
        if (hdr.a.x == 0xee && hdr.b.x == 9) {
            digest<seen_t>(1, { 0x99, 7 });
        }
    }
}

#include "../include/rest.p4"
