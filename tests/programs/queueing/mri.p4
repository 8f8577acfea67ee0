/* Each pass puts {switch, depth of the queue, microseconds in it} in front of a trace, as in-band telemetry does. */
#include <core.p4>
#include <v1model.p4>

header count_t { bit<16> count; }
header trace_t { bit<32> switch_id; bit<32> depth; bit<32> waited_us; }
struct headers_t { count_t count; trace_t[8] trace; }
struct metadata_t { bit<16> left; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.count);
        meta.left = hdr.count.count;
        transition next;
    }
    state next { transition select(meta.left) { 0: accept; default: one; } }
    state one {
        packet.extract(hdr.trace.next);
        meta.left = meta.left - 1;
        transition next;
    }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { standard_metadata.egress_spec = 1; }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.count.count = hdr.count.count + 1;
        hdr.trace.push_front(1);
        hdr.trace[0].setValid();
        hdr.trace[0] = { 7, (bit<32>) standard_metadata.deq_qdepth, standard_metadata.deq_timedelta };
    }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
