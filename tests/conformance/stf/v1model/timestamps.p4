/* Timestamps are microseconds; in egress not before ingress; time passes between packets that wait separates. */
#include "../include/start.p4"

header stamp_t {
    bit<8> same;
    bit<48> since;
}
header byte_t {
    bit<8> x;
}
struct headers_t {
    stamp_t stamp;
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
    register<bit<48>>(1) before;

    apply {
        bit<48> last;
        before.read(last, 0);
        before.write(0, sm.ingress_global_timestamp);
        hdr.stamp.setValid();
        hdr.stamp.since = last == 0 ? 48w0 : sm.ingress_global_timestamp - last;
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.stamp.same = sm.egress_global_timestamp >= sm.ingress_global_timestamp ? 8w1 : 8w0;
    }
}

#include "../include/rest.p4"
