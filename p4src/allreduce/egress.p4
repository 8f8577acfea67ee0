// Each multicast copy gets its child's addresses here; a reply to one child, and a frame of one child for another, were
// addressed in ingress.

#define NEARBY_REPORT(i) \
    if ((meta.waiting##i & bit_mask) != 0) { \
        meta.nearby = meta.nearby ^ ((NEARBY_ABSENT ^ NEARBY_PRESENT) << (2 * i)); \
    }

control AllreduceEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    MarkCongestion() marks;
    children_t bit_mask = meta.bit_mask; // of the child that a reply or copy is for

    action address_copy(
            bit<16> child, children_t copy_mask, mac_t source_mac, mac_t destination_mac, ipv4_t source_ip,
            ipv4_t destination_ip, bit<1> compute_checksum) {
        hdr.netsum.child = child;
        bit_mask = copy_mask;
        hdr.ethernet.source = source_mac;
        hdr.ethernet.destination = destination_mac;
        hdr.ipv4.source = source_ip;
        hdr.ipv4.destination = destination_ip;
        meta.compute_checksum = compute_checksum;
    }

    // Without lanes: the child has said that it needs none.
    action shorten() {
        hdr.lanes.setInvalid();
        hdr.udp.length_bytes = UDP_SHORT_BYTES;
        hdr.ipv4.total_bytes = IPV4_BYTES + UDP_SHORT_BYTES;
        hdr.netsum.lanes = 0;
        hdr.netsum.flags = FLAG_SHORT_RESULT;
    }

    action no_such_copy() {
        mark_to_drop(standard_metadata);
    }

    table copies {
        key = {
            standard_metadata.egress_port: exact @name("port");
            standard_metadata.egress_rid: exact @name("rid");
        }
        actions = { address_copy; no_such_copy; }
        default_action = no_such_copy();
        size = 4096;
    }

    apply {
        if (standard_metadata.egress_rid != 0) {
            copies.apply();
            NEARBY(NEARBY_REPORT)
        }
        hdr.ipv4.ttl = 64;
        marks.apply(hdr.ipv4.dscp_ecn, standard_metadata);
        if (meta.is_forwarded == 1) {
            return;
        }
        if ((meta.short_results & bit_mask) != 0) {
            shorten();
        }
        // Nothing that a contributor may fill in as it likes is passed on.
        hdr.udp.source_port = NETSUM_PORT;
        hdr.netsum.peer = meta.nearby;
        hdr.udp.checksum = 0;
        if (meta.compute_checksum == 1) {
            bit<16> sum;
            if (hdr.lanes.isValid()) {
                hash(sum, HashAlgorithm.csum16, 16w0, UDP_FULL_CHECKSUM_LIST, 32w65536);
            } else {
                hash(sum, HashAlgorithm.csum16, 16w0, UDP_SHORT_CHECKSUM_LIST, 32w65536);
            }
            hdr.udp.checksum = sum == 0 ? 16w0xFFFF : sum;
        }
    }
}
