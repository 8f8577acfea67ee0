/* In-band telemetry: a source inserts an instruction header behind UDP, every hop pushes what it is asked for in front
   of what is there, the sink sends all of it to a collector and the packet on without it. Roles come from tables. */
#include <core.p4>
#include <v1model.p4>

#ifndef HOPS
#define HOPS 4
#endif
#define REPORT_SESSION 250
#define SHIM_BYTES 12
#define EGRESS_CLONE 2
#define RECIRCULATED 4
#define ASKS(bit_) (hdr.shim.instructions[15 - bit_:15 - bit_] == 1)

typedef bit<48> mac_t;
enum bit<6> Dscp { PLAIN = 0, TELEMETRY = 0x17 }

header ethernet_t { mac_t destination; mac_t source; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; Dscp dscp; bit<2> ecn; bit<16> total_length; bit<16> identification; bit<3> flags;
    bit<13> fragment; bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> source; bit<32> destination;
}
header udp_t { bit<16> source; bit<16> destination; bit<16> length; bit<16> checksum; }
header shim_t {
    bit<4> version; bit<1> exceeded; bit<3> reserved; bit<8> hops_left; bit<8> hop_words; bit<8> total_words;
    bit<16> instructions; Dscp dscp; bit<2> pad; bit<8> rest; bit<32> cookie;
}
header hop_t { bit<32> node; bit<9> ingress; bit<9> egress; bit<14> pad; bit<32> seen; }
header report_t { bit<32> node; bit<32> number; bit<8> hops; bit<24> flow; }

struct headers_t {
    ethernet_t outer_ethernet; ipv4_t outer_ipv4; udp_t outer_udp; report_t report;
    ethernet_t ethernet; ipv4_t ipv4; udp_t udp; shim_t shim; hop_t[HOPS] hops;
}
struct meta_t {
    @field_list(7) bit<32> node;
    @field_list(7) bit<32> seen;
    @field_list(7) bit<8> hops;
    @field_list(8) bit<9> leaves_at;
    bit<8> to_extract;
    bool is_source;
    bool is_sink;
    bit<16> instructions;
    bit<8> limit;
}

parser IntParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol, hdr.ipv4.ihl) { (17, 5): udp; default: accept; }
    }
    state udp {
        packet.extract(hdr.udp);
        transition select(hdr.ipv4.dscp) { Dscp.TELEMETRY: shim; default: accept; }
    }
    state shim {
        packet.extract(hdr.shim);
        meta.to_extract = hdr.shim.total_words;
        transition select(hdr.shim.version, meta.to_extract) { (1, 0): accept; (1, _): hop; default: reject; }
    }
    state hop {
        packet.extract(hdr.hops.next);
        meta.to_extract = meta.to_extract - 3;
        meta.hops = meta.hops + 1;
        transition select(meta.to_extract) { 0: accept; 1 .. 2: reject; default: hop; }
    }
}

control IntVerify(inout headers_t hdr, inout meta_t meta) { apply { } }

control Sink(inout headers_t hdr) {
    apply {
        bit<16> gone = SHIM_BYTES + ((bit<16>) hdr.shim.total_words << 2);
        hdr.ipv4.dscp = hdr.shim.dscp;
        hdr.ipv4.total_length = hdr.ipv4.total_length - gone;
        hdr.udp.length = hdr.udp.length - gone;
        hdr.shim.setInvalid();
        for (bit<8> i = 0; i < HOPS; i = i + 1) { hdr.hops[i].setInvalid(); }
    }
}

control IntIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<32>>(512) packets_of_port;

    action drop() { mark_to_drop(sm); }
    action forward(bit<9> port, mac_t mac) {
        sm.egress_spec = port;
        hdr.ethernet.destination = mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    action watch(bit<16> instructions, bit<8> limit) {
        meta.is_source = true;
        meta.instructions = instructions;
        meta.limit = limit;
    }
    action sink() { meta.is_sink = true; }

    table routes {
        key = { hdr.ipv4.destination: lpm; }
        actions = { forward; drop; }
        default_action = drop();
    }
    table watchlist {
        key = {
            hdr.ipv4.source: ternary;
            hdr.ipv4.destination: ternary;
            hdr.udp.destination: range;
        }
        actions = { watch; NoAction; }
        default_action = NoAction();
    }
    table sinks {
        key = { sm.egress_spec: exact @name("port"); }
        actions = { sink; NoAction; }
        default_action = NoAction();
    }

    apply {
        if (sm.parser_error != error.NoError || !hdr.udp.isValid()) { drop(); return; }
        if (sm.instance_type == RECIRCULATED) {
            Sink.apply(hdr);
            sm.egress_spec = meta.leaves_at;
            return;
        }
        bit<32> seen;
        packets_of_port.read(seen, (bit<32>) sm.ingress_port);
        seen = seen + 1;
        packets_of_port.write((bit<32>) sm.ingress_port, seen);
        meta.seen = seen;
        if (!routes.apply().hit) { return; }
        sinks.apply();
        if (!hdr.shim.isValid()) { watchlist.apply(); }
    }
}

control Source(inout headers_t hdr, in meta_t meta) {
    apply {
        hdr.shim = {
            version = 1, exceeded = 0, reserved = 0, hops_left = meta.limit, hop_words = 3, total_words = 0,
            instructions = meta.instructions, dscp = hdr.ipv4.dscp, pad = 0, rest = 0, cookie = 0x494e5421
        };
        hdr.ipv4.dscp = Dscp.TELEMETRY;
        hdr.ipv4.total_length = hdr.ipv4.total_length + SHIM_BYTES;
        hdr.udp.length = hdr.udp.length + SHIM_BYTES;
    }
}

control Hop(inout headers_t hdr, inout meta_t meta, in standard_metadata_t sm) {
    apply {
        if (hdr.shim.hops_left == 0 || meta.hops >= HOPS) {
            hdr.shim.exceeded = 1;
            return;
        }
        hdr.hops.push_front(1);
        hdr.hops[0].setValid();
        if (ASKS(0)) { hdr.hops[0].node = meta.node; }
        if (ASKS(1)) { hdr.hops[0].ingress = sm.ingress_port; hdr.hops[0].egress = sm.egress_port; }
        if (ASKS(2)) { hdr.hops[0].seen = meta.seen; }
        hdr.shim.hops_left = hdr.shim.hops_left - 1;
        hdr.shim.total_words = hdr.shim.total_words + 3;
        hdr.ipv4.total_length = hdr.ipv4.total_length + 12;
        hdr.udp.length = hdr.udp.length + 12;
        meta.hops = meta.hops + 1;
    }
}

control IntEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<32>>(1) reports;
    action node(bit<32> id) { meta.node = id; }
    table whoami { actions = { node; } default_action = node(0); }
    action collector(bit<32> from, bit<32> to, mac_t source, mac_t destination) {
        hdr.outer_ethernet = { destination, source, 0x0800 };
        hdr.outer_ipv4 = {
            4, 5, Dscp.PLAIN, 0, hdr.ipv4.total_length + 14 + 20 + 8 + 12, 0, 2, 0, 64, 17, 0, from, to
        };
        hdr.outer_udp = { 0x8888, 0x8889, hdr.ipv4.total_length + 14 + 8 + 12, 0 };
        hdr.report = { meta.node, 0, meta.hops, 0 };
    }
    table collectors { actions = { collector; @defaultonly NoAction; } default_action = NoAction(); }
    apply {
        if (sm.instance_type == RECIRCULATED) { return; }
        if (sm.instance_type == EGRESS_CLONE) {
            if (!collectors.apply().hit && !hdr.report.isValid()) { mark_to_drop(sm); return; }
            bit<32> number;
            reports.read(number, 0);
            hdr.report.number = number;
            reports.write(0, number + 1);
            hash(hdr.report.flow, HashAlgorithm.crc32, 24w0,
                 { hdr.ipv4.source, hdr.ipv4.destination, hdr.udp.source, hdr.udp.destination }, 24w0xffffff);
            return;
        }
        whoami.apply();
        if (meta.is_source) { Source.apply(hdr, meta); }
        if (hdr.shim.isValid()) {
            Hop.apply(hdr, meta, sm);
            if (meta.is_sink) {
                /* the clone has the headers as they are at the end: what it reports, the original sheds going round */
                clone_preserving_field_list(CloneType.E2E, REPORT_SESSION, 7);
                meta.leaves_at = sm.egress_port;
                recirculate_preserving_field_list(8);
            }
        }
    }
}

control IntCompute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.outer_ipv4.isValid(), {
            hdr.outer_ipv4.version, hdr.outer_ipv4.ihl, hdr.outer_ipv4.dscp, hdr.outer_ipv4.ecn,
            hdr.outer_ipv4.total_length, hdr.outer_ipv4.identification, hdr.outer_ipv4.flags,
            hdr.outer_ipv4.fragment, hdr.outer_ipv4.ttl, hdr.outer_ipv4.protocol, hdr.outer_ipv4.source,
            hdr.outer_ipv4.destination
        }, hdr.outer_ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.ipv4.isValid(), {
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length,
            hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol,
            hdr.ipv4.source, hdr.ipv4.destination
        }, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control IntDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr); }
}

V1Switch(IntParser(), IntVerify(), IntIngress(), IntEgress(), IntCompute(), IntDeparser()) main;
