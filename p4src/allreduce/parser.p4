// Frames of the protocol are parsed up to the lanes; everything else stays without a netsum header, and ingress drops
// it. A frame cut short keeps its last header invalid (the failing extract takes nothing), which ingress notices too.

parser AllreduceParser(
        packet_in packet,
        out headers_t hdr,
        inout metadata_t meta,
        inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    // No options, not a fragment.
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (4, 5, 3w0 &&& 3w1, 0, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.destination_port) {
            NETSUM_PORT: parse_netsum;
            default: accept;
        }
    }

    state parse_netsum {
        packet.extract(hdr.netsum);
        transition select(hdr.netsum.kind, hdr.udp.length_bytes) {
            (kind_t.CONTRIBUTION, UDP_FULL_BYTES): parse_lanes;
            (kind_t.RESULT, UDP_FULL_BYTES): parse_lanes;
            (kind_t.ERROR, UDP_FULL_BYTES): parse_lanes;
            default: accept;
        }
    }

    state parse_lanes {
        packet.extract(hdr.lanes);
        transition accept;
    }
}

control AllreduceDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.netsum);
        packet.emit(hdr.lanes);
    }
}
