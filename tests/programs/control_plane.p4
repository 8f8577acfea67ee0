/* One of everything that a control plane can reach. */
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<16> key; bit<16> other; bit<32> flow; bit<32> value; bit<8> colour; }
struct headers_t { h_t h; }
struct metadata_t { bit<8> colour; }
struct seen_t { bit<16> key; bit<8> kind; }
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    value_set<bit<8>>(4) known;
    state start { p.extract(hdr.h); transition select(hdr.h.kind) { known: marked; default: accept; } }
    state marked { hdr.h.other = 0xffff; transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action_selector(HashAlgorithm.crc32, 64, 16) selector;
    action_profile(8) profile;
    direct_meter<bit<8>>(MeterType.packets) paced;
    direct_counter(CounterType.packets_and_bytes) counted;
    meter(4, MeterType.bytes) shared;
    action set_value(bit<32> value) { hdr.h.value = value; }
    action add_value(bit<32> value) { hdr.h.value = hdr.h.value + value; }
    action note() { paced.read(meta.colour); }
    action nothing() { }
    table choose {
        key = { hdr.h.key: exact; hdr.h.flow: selector; hdr.h.other: selector; }
        actions = { set_value; add_value; }
        implementation = selector;
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
    apply {
        choose.apply();
        single.apply();
        pace.apply();
        idle.apply();
        hdr.h.colour = meta.colour;
        bit<8> c = 7;
        shared.execute_meter((bit<32>) hdr.h.kind, c);
        hdr.h.kind = c;
        digest<seen_t>(1, { hdr.h.key, hdr.h.kind });
        sm.egress_spec = 1;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
