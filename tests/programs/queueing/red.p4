/* Random early detection (Floyd, Jacobson 1993): egress keeps a moving average of the queue's depth, ingress drops the
 * more packets the larger it is. */
#include <core.p4>
#include <v1model.p4>

const bit<32> LEAST = 4 << 8;
const bit<32> MOST = 20 << 8;

header number_t { bit<16> number; bit<16> average; }
struct headers_t { number_t number; }
struct metadata_t { }

register<bit<32>>(1) averages;

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start { packet.extract(hdr.number); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    bit<32> average;
    bit<32> chance;
    apply {
        standard_metadata.egress_spec = 1;
        averages.read(average, 0);
        random(chance, LEAST, MOST - 1);
        if (chance < average) { mark_to_drop(standard_metadata); }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    bit<32> average;
    apply {
        averages.read(average, 0);
        average = average - (average >> 3) + ((bit<32>) standard_metadata.enq_qdepth << 5);
        averages.write(0, average);
        hdr.number.average = (bit<16>) (average >> 8);
    }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
