/* Joins ports in pairs, whatever the frames are: port N and port N + 256. For v1model. */
#include <core.p4>
#include <v1model.p4>

/* Of port numbers: set in the second of a pair. */
const bit<9> SECOND = 0x100;

struct headers_t {
}

struct metadata_t {
}

parser Frame(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Join(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = sm.ingress_port ^ SECOND;
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply { }
}

control NoUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Payload(packet_out packet, in headers_t hdr) {
    apply { }
}

V1Switch(Frame(), NoVerify(), Join(), NoEgress(), NoUpdate(), Payload()) main;
