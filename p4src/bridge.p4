/* Joins ports in pairs, whatever the frames are: port N and port N + 256. For v1model. Egress queues
   that `queues` says so of mark IPv4 packets or drop them early. */
#include <core.p4>
#include <v1model.p4>

#include "shared/marks.p4"

/* Of port numbers: set in the second of a pair. */
const bit<9> SECOND = 0x100;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ethertype;
}

/* As far as a mark needs it; what follows stays with the bytes of the packet. */
header ipv4_t {
    bit<8> version_ihl;
    bit<8> dscp_ecn;
    bit<64> total_bytes_to_protocol;
    bit<16> checksum;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {
}

parser Frame(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            0x0800: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
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

control Mark(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    MarkCongestion() marks;

    apply {
        if (hdr.ipv4.isValid()) {
            bit<8> before = hdr.ipv4.dscp_ecn;
            marks.apply(hdr.ipv4.dscp_ecn, sm);
            if (hdr.ipv4.dscp_ecn != before) {
                /* RFC 1624, equation 3, which is the csum16 of these. */
                bit<16> sum;
                hash(sum, HashAlgorithm.csum16, 16w0, {
                    ~hdr.ipv4.checksum, ~hdr.ipv4.version_ihl, ~before, hdr.ipv4.version_ihl, hdr.ipv4.dscp_ecn
                }, 32w65536);
                hdr.ipv4.checksum = sum;
            }
        }
    }
}

control NoUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Frames(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(Frame(), NoVerify(), Join(), Mark(), NoUpdate(), Frames()) main;
