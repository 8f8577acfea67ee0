/* The deparser emits in its own order, skips invalid headers, may emit one twice; then comes the payload. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}
struct headers_t {
    byte_t a;
    byte_t b;
    byte_t c;
}

struct metadata_t { }

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.a);
        packet.extract(hdr.b);
        packet.extract(hdr.c);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.b.x == 0) { hdr.b.setInvalid(); }
    }
}

#define OWN_DEPARSER
control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.c);
        packet.emit(hdr.a);
        packet.emit(hdr.b);
        packet.emit(hdr.c);
    }
}

#include "../include/rest.p4"
