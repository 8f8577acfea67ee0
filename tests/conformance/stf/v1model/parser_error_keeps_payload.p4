/* After a parser error ingress sees the error, and the packet goes on with all of its bytes. */
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
        verify(hdr.a.x != 1, error.ParserInvalidArgument);
        packet.extract(hdr.b);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = sm.parser_error == error.NoError ? 9w1 : (sm.parser_error == error.PacketTooShort ? 9w2 : 9w3);
        hdr.a.x = 0xee;
    }
}

#include "../include/rest.p4"
