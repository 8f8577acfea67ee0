/* Counters count packets and the bytes that arrived, in egress too, whatever is added; outside their indices nothing. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}
header long_t {
    bit<64> x;
}
struct headers_t {
    long_t added;
    byte_t a;
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
    counter(4, CounterType.packets_and_bytes) sizes;

    apply {
        sm.egress_spec = 1;
        hdr.added.setValid();
        sizes.count((bit<32>)hdr.a.x);
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    counter(1, CounterType.bytes) after;

    apply {
        after.count(0);
    }
}

#include "../include/rest.p4"
