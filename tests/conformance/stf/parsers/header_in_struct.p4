/* Headers inside nested structs of the headers struct: extracted, used and emitted in order. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}
struct inner_t {
    byte_t one;
    byte_t two;
}
struct headers_t {
    inner_t outer;
    inner_t inner;
    byte_t last;
}

struct metadata_t { }

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.inner.two);
        packet.extract(hdr.outer.one);
        packet.extract(hdr.last);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.outer.two = hdr.inner.two;
        hdr.inner.two.x = hdr.inner.two.x + 1;
        hdr.inner.one = hdr.last;
    }
}

#include "../include/rest.p4"
