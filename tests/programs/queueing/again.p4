// Each turn through the switch is a look-up of another address: egress counts up and recirculates until none is left.
#include <core.p4>
#include <v1model.p4>

header turn_t {
    bit<32> address;
    bit<8>  left;
    bit<8>  seen;
}

struct headers_t {
    turn_t turn;
}

struct metadata_t {
}

parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.turn);
        transition accept;
    }
}

control MyVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action found(bit<8> value) {
        hdr.turn.seen = (hdr.turn.seen << 2) ^ value;
    }

    table routes {
        key = {
            hdr.turn.address: lpm;
        }
        actions = { found; NoAction; }
        const entries = {
            0x0A000000 &&& 0xFF000000: found(1);
            0x0A010000 &&& 0xFFFF0000: found(2);
            0x0A010100 &&& 0xFFFFFF00: found(3);
        }
    }

    apply {
        sm.egress_spec = 1;
        routes.apply();
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.turn.left != 0) {
            hdr.turn.left = hdr.turn.left - 1;
            hdr.turn.address = hdr.turn.address + 0x00FF80;
            recirculate_preserving_field_list(0);
        }
    }
}

control MyCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
