/* varbit: extracted with its length, copied, compared, emitted (sections 7.1.6.4, 13.8.2). */
#include "../include/start.p4"

header options_t {
    bit<8> length;
    varbit<64> data;
    bit<8> last;
}

struct metadata_t { }

struct headers_t {
    options_t one;
    options_t two;
    options_t copy;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.one, (bit<32>)packet.lookahead<bit<8>>() * 8);
        packet.extract(hdr.two, (bit<32>)packet.lookahead<bit<8>>() * 8);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.copy = hdr.one;
        hdr.copy.last = hdr.one.data == hdr.two.data ? 8w0xee : 8w0xdd;
        if (hdr.one.length == 3) {
            hdr.copy.data = hdr.two.data;
        }
    }
}

#include "../include/rest.p4"
