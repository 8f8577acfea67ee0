/* A program with one of everything that the harness can name: for the tests of the harness. */
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ether_type;
}

header note_t {
    bit<8>  kind;
    bit<8>  hops;
    bit<16> port;
    bit<32> value;
}

struct headers_t {
    ethernet_t ethernet;
    note_t note;
}

struct sample_t {
    bit<48> source;
    bit<9>  port;
}

struct metadata_t {
    bit<2> colour;
}

parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    value_set<bit<16>>(4) types;

    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x88b5: note;
            types: note;
            default: accept;
        }
    }

    state note {
        packet.extract(hdr.note);
        transition accept;
    }
}

control MyVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<32>>(8) last;
    counter(8, CounterType.packets_and_bytes) seen;
    meter(2, MeterType.packets) rate;
    direct_counter(CounterType.packets_and_bytes) hits;
    action_selector(HashAlgorithm.crc16, 16, 14) paths;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action spread(bit<16> group) {
        standard_metadata.mcast_grp = group;
    }

    action mirror(bit<9> port) {
        clone(CloneType.I2E, 5);
        standard_metadata.egress_spec = port;
    }

    action tell() {
        digest<sample_t>(1, { hdr.ethernet.source, standard_metadata.ingress_port });
        log_msg("from port {}", { standard_metadata.ingress_port });
    }

    table hosts {
        key = { hdr.ethernet.destination: exact; }
        actions = { forward; spread; mirror; drop; }
        default_action = drop();
        counters = hits;
    }

    table rules {
        key = {
            hdr.note.kind: ternary;
            hdr.note.port: range;
            hdr.note.value: optional;
        }
        actions = { tell; NoAction; }
        default_action = NoAction();
    }

    table balanced {
        key = {
            hdr.note.value: lpm;
            hdr.note.port: selector;
        }
        actions = { forward; NoAction; }
        implementation = paths;
    }

    table fixed {
        key = { hdr.note.kind: exact; }
        actions = { tell; NoAction; }
        const entries = {
            7: tell();
            9: NoAction();
        }
    }

    apply {
        seen.count((bit<32>) standard_metadata.ingress_port);
        hosts.apply();
        if (hdr.note.isValid()) {
            bit<32> before;
            last.read(before, 0);
            last.write(0, hdr.note.value);
            hdr.note.value = before;
            hdr.note.hops = hdr.note.hops + 1;
            rules.apply();
            balanced.apply();
            fixed.apply();
            rate.execute_meter(0, meta.colour);
            if (meta.colour == 2) {
                drop();
            }
        }
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control MyCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.note);
    }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
