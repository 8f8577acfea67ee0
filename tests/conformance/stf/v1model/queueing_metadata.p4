/* Without egress queues nothing waits: depths and waiting time are 0 in egress. */
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
        hdr.b.setValid();
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.b.x = (bit<8>)(sm.enq_qdepth | sm.deq_qdepth) | (bit<8>)sm.deq_timedelta;
    }
}

#include "../include/rest.p4"
