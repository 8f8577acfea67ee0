/* One of everything that P4Runtime can reach. What a packet's kind does: 2 clones it into session 5, 3 multicasts it to
   group 7, 4 sends it to the controller, 5 sends a digest, 6 is marked where the value set knows it. */
#include <core.p4>
#include <v1model.p4>
#define CPU 255
@controller_header("packet_in") header packet_in_t { bit<9> ingress_port; bit<7> reason; }
@controller_header("packet_out") header packet_out_t { bit<9> egress_port; bit<7> _pad; }
header h_t { bit<8> kind; bit<16> key; bit<16> other; bit<32> flow; bit<32> value; bit<8> colour; }
struct headers_t { packet_in_t packet_in; packet_out_t packet_out; h_t h; }
struct metadata_t { bit<8> colour; }
struct seen_t { bit<16> key; bit<9> port; bool odd; int<8> depth; }
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    value_set<bit<8>>(4) known;
    state start { transition select(sm.ingress_port) { CPU: from_controller; default: plain; } }
    state from_controller { p.extract(hdr.packet_out); transition plain; }
    state plain { p.extract(hdr.h); transition select(hdr.h.kind) { known: marked; default: accept; } }
    state marked { hdr.h.other = 0xffff; transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action_selector(HashAlgorithm.crc32, 64, 16) selector;
    action_profile(4) profile;
    direct_meter<bit<8>>(MeterType.packets) paced;
    direct_counter(CounterType.packets_and_bytes) counted;
    meter(4, MeterType.packets) shared;
    counter(8, CounterType.packets) arrivals;
    register<bit<32>>(8) sums;
    action set_value(bit<32> value) { hdr.h.value = value; }
    action add_value(bit<32> value) { hdr.h.value = hdr.h.value + value; }
    action note() { paced.read(meta.colour); }
    action nothing() { }
    action send(bit<9> port, bit<32> value) { sm.egress_spec = port; hdr.h.value = value; }
    table choose {
        key = { hdr.h.key: exact; hdr.h.flow: selector; }
        actions = { set_value; add_value; }
        implementation = selector;
        size = 1024;
    }
    table single {
        key = { hdr.h.key: exact; }
        actions = { add_value; nothing; }
        implementation = profile;
    }
    table pace {
        key = { hdr.h.key: range; hdr.h.kind: optional; hdr.h.other: ternary; }
        actions = { note; nothing; }
        default_action = nothing();
        meters = paced;
        counters = counted;
    }
    table idle {
        key = { hdr.h.key: lpm; }
        actions = { nothing; }
        support_timeout = true;
        default_action = nothing();
    }
    table forward {
        key = { hdr.h.key: exact; hdr.h.flow: exact; }
        actions = { send; nothing; @defaultonly NoAction; }
        size = 150000;
    }
    table routes {
        key = { hdr.h.flow: lpm; }
        actions = { send; nothing; }
        default_action = nothing();
        size = 150000;
    }
    apply {
        sm.egress_spec = 1;
        if (hdr.packet_out.isValid()) {
            sm.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else {
            arrivals.count((bit<32>) hdr.h.kind & 7);
            choose.apply();
            single.apply();
            pace.apply();
            idle.apply();
            routes.apply();
            forward.apply();
            hdr.h.colour = meta.colour;
            bit<8> shade = 7;
            shared.execute_meter((bit<32>) hdr.h.kind & 3, shade);
            sums.write((bit<32>) hdr.h.kind & 7, hdr.h.value);
            if (hdr.h.kind == 2) clone(CloneType.I2E, 5);
            if (hdr.h.kind == 3) sm.mcast_grp = 7;
            if (hdr.h.kind == 4) {
                sm.egress_spec = CPU;
                hdr.packet_in.setValid();
                hdr.packet_in = { sm.ingress_port, 9 };
            }
            if (hdr.h.kind == 5) digest<seen_t>(1, { hdr.h.key, sm.ingress_port, hdr.h.key[0:0] == 1, -3 });
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.packet_in); p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
