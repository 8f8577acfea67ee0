// The IPv4 header's checksum is v1model's own business. UDP's is not: zero means "not computed" and a computed zero
// travels as 0xFFFF, which verify_checksum and update_checksum cannot express. So ingress and egress hash these lists.

#define IPV4_CHECKSUM_LIST \
    { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp_ecn, hdr.ipv4.total_bytes, \
      hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.fragment_offset, \
      hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination }

// Pseudo header, UDP header with its checksum field, protocol header.
#define UDP_CHECKSUM_ITEMS \
    hdr.ipv4.source, hdr.ipv4.destination, 8w0, hdr.ipv4.protocol, hdr.udp.length_bytes, \
    hdr.udp.source_port, hdr.udp.destination_port, hdr.udp.length_bytes, hdr.udp.checksum, \
    hdr.netsum.version, hdr.netsum.kind, hdr.netsum.job, hdr.netsum.child, \
    hdr.netsum.flags, hdr.netsum.operator, hdr.netsum.lanes, hdr.netsum.peer, \
    hdr.netsum.epoch, hdr.netsum.chunk, hdr.netsum.operation

#define LANE_ITEM(i) , hdr.lanes.lane##i
#define UDP_SHORT_CHECKSUM_LIST { UDP_CHECKSUM_ITEMS }
#define UDP_FULL_CHECKSUM_LIST { UDP_CHECKSUM_ITEMS EACH_LANE(LANE_ITEM) }

control AllreduceVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_CHECKSUM_LIST, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control AllreduceComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_CHECKSUM_LIST, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}
