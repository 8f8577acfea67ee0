/* An IPv4 router: longest prefix match, TTL, checksum, MAC rewriting, counters. For v1model. */
#include <core.p4>
#include <v1model.p4>

typedef bit<48> mac_address_t;
typedef bit<32> ipv4_address_t;
typedef bit<9> port_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<4> IPV4_VERSION = 4;
const bit<4> IPV4_IHL_WITHOUT_OPTIONS = 5;
const bit<32> PORT_COUNT = 512;
#ifndef ROUTES
#define ROUTES 4096
#endif

/* Indices of the counter `drops`: why a packet went no further. */
const bit<32> DROP_NOT_IPV4 = 0;
const bit<32> DROP_BAD_CHECKSUM = 1;
const bit<32> DROP_TTL_EXPIRED = 2;
const bit<32> DROP_NO_ROUTE = 3;
const bit<32> DROP_REASONS = 4;

header ethernet_t {
    mac_address_t destination;
    mac_address_t source;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> diffserv;
    bit<16> total_length;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> header_checksum;
    ipv4_address_t source;
    ipv4_address_t destination;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {
}

/* Packets with IPv4 options are not taken for IPv4 at all: the checksum covers the fixed header only. */
parser RouterParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        transition select(packet.lookahead<bit<8>>()) {
            IPV4_VERSION ++ IPV4_IHL_WITHOUT_OPTIONS: parse_ipv4_header;
            default: accept;
        }
    }

    state parse_ipv4_header {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control RouterVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_length, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source,
              hdr.ipv4.destination },
            hdr.ipv4.header_checksum, HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) routed;
    counter(DROP_REASONS, CounterType.packets) drops;

    action drop(bit<32> reason) {
        drops.count(reason);
        mark_to_drop(standard_metadata);
    }

    action no_route() {
        drops.count(DROP_NO_ROUTE);
        mark_to_drop(standard_metadata);
    }

    action set_nhop(port_t port, mac_address_t dmac) {
        routed.count();
        standard_metadata.egress_spec = port;
        hdr.ethernet.destination = dmac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    table routes {
        key = {
            hdr.ipv4.destination: lpm @name("destination");
        }
        actions = {
            set_nhop;
            no_route;
        }
        default_action = no_route();
        size = ROUTES;
        counters = routed;
    }

    apply {
        if (!hdr.ipv4.isValid()) {
            drop(DROP_NOT_IPV4);
        } else if (standard_metadata.checksum_error == 1) {
            drop(DROP_BAD_CHECKSUM);
        } else if (hdr.ipv4.ttl <= 1) {
            drop(DROP_TTL_EXPIRED);
        } else {
            routes.apply();
        }
    }
}

control RouterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(PORT_COUNT, CounterType.packets_and_bytes) sent;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action set_source(mac_address_t smac) {
        hdr.ethernet.source = smac;
        sent.count((bit<32>) standard_metadata.egress_port);
    }

    table source_macs {
        key = {
            standard_metadata.egress_port: exact @name("port");
        }
        actions = {
            set_source;
            drop;
        }
        default_action = drop();
        size = PORT_COUNT;
    }

    apply {
        source_macs.apply();
    }
}

control RouterComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_length, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source,
              hdr.ipv4.destination },
            hdr.ipv4.header_checksum, HashAlgorithm.csum16);
    }
}

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(RouterParser(), RouterVerifyChecksum(), RouterIngress(), RouterEgress(), RouterComputeChecksum(),
         RouterDeparser()) main;
