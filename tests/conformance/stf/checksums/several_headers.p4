/* A pseudo header: fields of two headers, constants and widths under a byte, in the order written. */
#include "../include/start.p4"

header ip_t {
    bit<32> source;
    bit<32> destination;
}
header udp_t {
    bit<16> port;
    bit<16> length;
    bit<16> checksum;
}
struct headers_t {
    ip_t ip;
    udp_t udp;
}

struct metadata_t { }

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ip);
        packet.extract(hdr.udp);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.ip.source = hdr.ip.source + 1;
    }
}

#define OWN_COMPUTE
control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(true, {
                hdr.ip.source,
                hdr.ip.destination,
                8w0,
                4w1, 4w1,
                hdr.udp.length,
                hdr.udp.port,
                hdr.udp.length
            }, hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

#include "../include/rest.p4"
