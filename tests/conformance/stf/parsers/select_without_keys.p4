/* select() of nothing: its only case is the default. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}

struct metadata_t { }

struct headers_t {
    byte_t first;
    byte_t second;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.first);
        transition select() {
            default: more;
        }
    }
    state more {
        packet.extract(hdr.second);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.second.x = hdr.second.x + 1;
    }
}

#include "../include/rest.p4"
