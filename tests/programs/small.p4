// A little of everything a P4Runtime server speaks of: tables of three kinds, counters, registers, multicast.
#include <core.p4>
#include <v1model.p4>

#ifndef REGISTER_SIZE
#define REGISTER_SIZE 16
#endif

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<96> front;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct metadata_t {
}

parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control MyVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets_and_bytes) hits;
    counter(8, CounterType.packets_and_bytes) arrivals;
    register<bit<32>>(REGISTER_SIZE) seen;

    action forward(bit<9> port, bit<48> mac) {
        sm.egress_spec = port;
        hdr.ethernet.dst = mac;
    }
    action flood(bit<16> group) {
        sm.mcast_grp = group;
    }
    action drop() {
        mark_to_drop(sm);
    }
    table hosts {
        key = {
            hdr.ethernet.dst: exact @name("mac");
            sm.ingress_port: exact @name("port");
        }
        actions = {
            forward;
            flood;
            @defaultonly drop;
        }
        default_action = drop();
        size = 64;
    }
    table routes {
        key = {
            hdr.ipv4.dst: lpm;
        }
        actions = {
            forward;
            drop;
        }
        counters = hits;
        size = 8;
    }
    table filter {
        key = {
            hdr.ethernet.src: ternary;
            hdr.ethernet.type: exact;
        }
        actions = {
            drop;
            NoAction;
        }
        const default_action = NoAction();
    }
    table fixed {
        key = {
            hdr.ethernet.type: exact;
        }
        actions = {
            drop;
            NoAction;
        }
        const entries = {
            0x88cc: drop();
            0x86dd: NoAction();
        }
    }

    apply {
        arrivals.count((bit<32>) sm.ingress_port);
        bit<32> count;
        seen.read(count, (bit<32>) sm.ingress_port);
        seen.write((bit<32>) sm.ingress_port, count + 1);
        hosts.apply();
        if (hdr.ipv4.isValid()) {
            routes.apply();
        }
        filter.apply();
        fixed.apply();
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (sm.egress_rid != 0) {
            hdr.ethernet.src = (bit<48>) sm.egress_rid;
        }
    }
}

control MyCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
    }
}

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
