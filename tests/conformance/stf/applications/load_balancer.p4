/* A layer-4 load balancer: a virtual address's connections are spread over servers by an action selector; a table of
   connections in registers keeps each where it began, also when the group changes; v4 and v6, TCP and UDP. */
#include <core.p4>
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_IPV6 = 0x86dd;
const bit<16> TYPE_VLAN = 0x8100;
const bit<8> TCP = 6;
const bit<8> UDP = 17;
const bit<32> CONNECTIONS = 1024;
const bit<9> CPU = 8;

typedef bit<16> server_t;
@p4runtime_translation("", 32) type bit<9> port_id_t;

header ethernet_t { bit<48> destination; bit<48> source; bit<16> type; }
header vlan_t { bit<3> priority; bit<1> drop_eligible; bit<12> id; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<6> dscp; bit<2> ecn; bit<16> total_length; bit<16> identification; bit<3> flags;
    bit<13> fragment; bit<8> ttl; bit<8> protocol; bit<16> checksum; bit<32> source; bit<32> destination;
}
header options_t { varbit<320> data; }
header ipv6_t {
    bit<4> version; bit<8> traffic_class; bit<20> flow_label; bit<16> payload_length; bit<8> next_header;
    bit<8> hop_limit; bit<128> source; bit<128> destination;
}
header tcp_t {
    bit<16> source; bit<16> destination; bit<32> sequence; bit<32> acknowledged; bit<4> offset; bit<4> reserved;
    bit<8> flags; bit<16> window; bit<16> checksum; bit<16> urgent;
}
header udp_t { bit<16> source; bit<16> destination; bit<16> length; bit<16> checksum; }

@controller_header("packet_in")
header to_cpu_t { bit<16> reason; @padding bit<7> pad; port_id_t port; }

header_union ip_t { ipv4_t v4; ipv6_t v6; }
struct headers_t {
    to_cpu_t to_cpu; ethernet_t ethernet; vlan_t[2] vlans; ip_t ip; options_t options; tcp_t tcp; udp_t udp;
}
struct flow_t { bit<128> source; bit<128> destination; bit<8> protocol; bit<16> source_port; bit<16> destination_port; }
struct opened_t { bit<32> hash; server_t server; }
struct meta_t {
    flow_t flow;
    @field_list(1) bit<16> reason;
    @field_list(1) bit<9> arrived_at;
    bit<16> vip;
    server_t server;
    bit<32> place;
    bit<32> print;
    bit<16> l4_length;
    bool known;
    bool starts;
}

parser BalancerParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    value_set<bit<16>>(4) tunnels;
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            TYPE_IPV4: ipv4; TYPE_IPV6: ipv6; TYPE_VLAN: vlan; tunnels: accept; default: accept;
        }
    }
    state vlan {
        packet.extract(hdr.vlans.next);
        transition select(hdr.vlans.last.type) {
            TYPE_IPV4: ipv4; TYPE_IPV6: ipv6; TYPE_VLAN: vlan; default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ip.v4);
        meta.flow.source = (bit<128>) hdr.ip.v4.source;
        meta.flow.destination = (bit<128>) hdr.ip.v4.destination;
        meta.flow.protocol = hdr.ip.v4.protocol;
        meta.l4_length = hdr.ip.v4.total_length - ((bit<16>) hdr.ip.v4.ihl << 2);
        verify(hdr.ip.v4.ihl >= 5, error.HeaderTooShort);
        transition select(hdr.ip.v4.ihl) { 5: layer4; default: options; }
    }
    state options {
        packet.extract(hdr.options, ((bit<32>) hdr.ip.v4.ihl - 5) * 32);
        transition layer4;
    }
    state ipv6 {
        packet.extract(hdr.ip.v6);
        meta.flow.source = hdr.ip.v6.source;
        meta.flow.destination = hdr.ip.v6.destination;
        meta.flow.protocol = hdr.ip.v6.next_header;
        meta.l4_length = hdr.ip.v6.payload_length;
        transition layer4;
    }
    state layer4 {
        transition select(meta.flow.protocol) { TCP: tcp; UDP: udp; _: accept; }
    }
    state tcp {
        packet.extract(hdr.tcp);
        meta.flow.source_port = hdr.tcp.source;
        meta.flow.destination_port = hdr.tcp.destination;
        meta.starts = hdr.tcp.flags & 0x12 == 0x02;
        transition accept;
    }
    state udp {
        packet.extract(hdr.udp);
        meta.flow.source_port = hdr.udp.source;
        meta.flow.destination_port = hdr.udp.destination;
        transition accept;
    }
}

control BalancerVerify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.ip.v4.isValid(), {
            hdr.ip.v4.version, hdr.ip.v4.ihl, hdr.ip.v4.dscp, hdr.ip.v4.ecn, hdr.ip.v4.total_length,
            hdr.ip.v4.identification, hdr.ip.v4.flags, hdr.ip.v4.fragment, hdr.ip.v4.ttl, hdr.ip.v4.protocol,
            hdr.ip.v4.source, hdr.ip.v4.destination, hdr.options.data
        }, hdr.ip.v4.checksum, HashAlgorithm.csum16);
    }
}

control BalancerIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    action_selector(HashAlgorithm.crc32, 64, 16) servers_of_vip;
    direct_counter(CounterType.packets_and_bytes) per_vip;
    direct_meter<bit<2>>(MeterType.packets) opening_rate;
    /* Where each connection began; a fingerprint tells those of one place apart, 0 is a free place. */
    register<bit<32>>(CONNECTIONS) prints;
    register<server_t>(CONNECTIONS) kept;
    bit<2> colour = 0;

    action drop() { mark_to_drop(sm); }
    action is_vip(bit<16> vip) { meta.vip = vip; opening_rate.read(colour); per_vip.count(); }
    action not_vip() { meta.vip = 0; }
    action choose(server_t server) { meta.server = server; }
    action none() { meta.server = 0; }
    action send4(bit<9> port, bit<48> mac, bit<32> address) {
        sm.egress_spec = port;
        hdr.ethernet.destination = mac;
        hdr.ip.v4.destination = address;
        hdr.ip.v4.ttl = hdr.ip.v4.ttl - 1;
    }
    action send6(bit<9> port, bit<48> mac, bit<128> address) {
        sm.egress_spec = port;
        hdr.ethernet.destination = mac;
        hdr.ip.v6.destination = address;
        hdr.ip.v6.hop_limit = hdr.ip.v6.hop_limit - 1;
    }
    action tell_controller(bit<16> reason) {
        meta.reason = reason;
        meta.arrived_at = sm.ingress_port;
        clone_preserving_field_list(CloneType.I2E, 99, 1);
    }

    table vips {
        key = {
            meta.flow.destination: exact @name("address");
            meta.flow.protocol: exact @name("protocol");
            meta.flow.destination_port: range @name("port");
        }
        actions = { is_vip; not_vip; }
        const default_action = not_vip;
        counters = per_vip;
        meters = opening_rate;
    }
    table pool {
        key = {
            meta.vip: exact;
            meta.flow.source: selector;
            meta.flow.source_port: selector;
            meta.flow.protocol: selector;
        }
        actions = { choose; none; }
        implementation = servers_of_vip;
        size = 32;
    }
    table backends {
        key = { meta.server: exact @name("server"); hdr.ip.v4.isValid(): exact @name("is_v4"); }
        actions = { send4; send6; drop; }
        const default_action = drop;
    }
    table refused {
        key = { meta.flow.source: ternary @name("source"); sm.ingress_port: optional @name("port"); }
        actions = { drop; NoAction; tell_controller; }
        default_action = NoAction;
        const entries = {
            (0x0a000000 &&& 0xffffffffffffffffffffffffff000000, 9w7): drop();
            (0x0a0000fe, _): tell_controller(3);
        }
    }

    apply {
        if (sm.parser_error != error.NoError || sm.checksum_error != 0) { drop(); return; }
        switch (refused.apply().action_run) { drop: { return; } default: { } }
        if (!vips.apply().hit) { drop(); return; }
        hash(meta.place, HashAlgorithm.crc32, 32w0, meta.flow, CONNECTIONS);
        hash(meta.print, HashAlgorithm.crc16, 32w1, meta.flow, 32w0xffff);
        bit<32> print;
        prints.read(print, meta.place);
        meta.known = print == meta.print;
        if (meta.known) {
            kept.read(meta.server, meta.place);
        } else if (meta.starts || hdr.udp.isValid()) {
            if (colour == V1MODEL_METER_COLOR_RED) { drop(); return; }
            if (pool.apply().hit && meta.server != 0) {
                prints.write(meta.place, meta.print);
                kept.write(meta.place, meta.server);
                digest<opened_t>(0, { meta.place, meta.server });
            } else {
                tell_controller(1);
            }
        } else {
            tell_controller(2);
        }
        if (meta.known && hdr.tcp.isValid() && hdr.tcp.flags[2:2] == 1) { prints.write(meta.place, 0); }
        backends.apply();
    }
}

control BalancerEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    counter(512, CounterType.packets) sent;
    apply {
        if (sm.instance_type == 1) {
            hdr.to_cpu.setValid();
            hdr.to_cpu.reason = meta.reason;
            hdr.to_cpu.port = (port_id_t) meta.arrived_at;
            truncate(32);
        } else {
            sent.count((bit<32>) sm.egress_port);
            hdr.vlans.pop_front(2);
            if (hdr.ip.v4.isValid()) { hdr.ethernet.type = TYPE_IPV4; } else { hdr.ethernet.type = TYPE_IPV6; }
        }
    }
}

control BalancerCompute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ip.v4.isValid(), {
            hdr.ip.v4.version, hdr.ip.v4.ihl, hdr.ip.v4.dscp, hdr.ip.v4.ecn, hdr.ip.v4.total_length,
            hdr.ip.v4.identification, hdr.ip.v4.flags, hdr.ip.v4.fragment, hdr.ip.v4.ttl, hdr.ip.v4.protocol,
            hdr.ip.v4.source, hdr.ip.v4.destination, hdr.options.data
        }, hdr.ip.v4.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.tcp.isValid() && hdr.ip.v4.isValid(), {
            hdr.ip.v4.source, hdr.ip.v4.destination, 8w0, hdr.ip.v4.protocol, meta.l4_length,
            hdr.tcp.source, hdr.tcp.destination, hdr.tcp.sequence, hdr.tcp.acknowledged, hdr.tcp.offset,
            hdr.tcp.reserved, hdr.tcp.flags, hdr.tcp.window, hdr.tcp.urgent
        }, hdr.tcp.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.udp.isValid() && hdr.ip.v6.isValid(), {
            hdr.ip.v6.source, hdr.ip.v6.destination, 16w0, meta.l4_length, 24w0, hdr.ip.v6.next_header,
            hdr.udp.source, hdr.udp.destination, hdr.udp.length
        }, hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

control BalancerDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.to_cpu);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlans);
        packet.emit(hdr.ip);
        packet.emit(hdr.options);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(BalancerParser(), BalancerVerify(), BalancerIngress(), BalancerEgress(), BalancerCompute(),
         BalancerDeparser()) main;
