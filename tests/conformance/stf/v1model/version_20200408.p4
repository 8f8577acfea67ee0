/* V1MODEL_VERSION 20200408: index types as parameters, PortId_t. */
#define V1MODEL_VERSION 20200408
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
    register<bit<8>, bit<4>>(16) seen;
    counter<bit<1>>(2, CounterType.packets) hits;

    apply {
        bit<8> n;
        seen.read(n, hdr.a.x[3:0]);
        n = n + 1;
        seen.write(hdr.a.x[3:0], n);
        hits.count(hdr.a.x[0:0]);
        PortId_t port = 5;
        sm.egress_spec = port;
        hdr.b.setValid();
        hdr.b.x = n;
    }
}

#include "../include/rest.p4"
