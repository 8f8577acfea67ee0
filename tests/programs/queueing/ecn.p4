/* IPv4 packets are marked "congestion experienced" where their queue is long (RFC 3168), by p4lang/tutorials' idea. */
#include <core.p4>
#include <v1model.p4>

const bit<19> THRESHOLD = 10;

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<6> dscp; bit<2> ecn; bit<16> length;
    bit<16> id; bit<3> flags; bit<13> offset; bit<8> ttl; bit<8> protocol; bit<16> checksum;
    bit<32> src; bit<32> dst;
}
struct headers_t { ethernet_t ethernet; ipv4_t ipv4; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) { 0x800: ipv4; default: accept; }
    }
    state ipv4 { packet.extract(hdr.ipv4); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { standard_metadata.egress_spec = 1; hdr.ipv4.ttl = hdr.ipv4.ttl - 1; }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if ((hdr.ipv4.ecn == 1 || hdr.ipv4.ecn == 2) && standard_metadata.enq_qdepth >= THRESHOLD) {
            hdr.ipv4.ecn = 3;
        }
    }
}
control C(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.length, hdr.ipv4.id,
              hdr.ipv4.flags, hdr.ipv4.offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
