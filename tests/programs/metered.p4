/* Tables that count and meter, for what happens at a miss. */
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<16> key; bit<16> other; bit<32> flow; bit<32> value; bit<8> colour; }
struct headers_t { h_t h; }
struct metadata_t { bit<8> colour; }
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    direct_meter<bit<8>>(MeterType.packets) paced;
    direct_counter(CounterType.packets_and_bytes) counted;
    direct_counter(CounterType.packets) counted_keyless;
    direct_counter(CounterType.packets) counted_fixed;
    action metered() { paced.read(meta.colour); }
    action nothing() { }
    table pace {
        key = { hdr.h.kind: exact; }
        actions = { metered; nothing; }
        default_action = nothing();
        meters = paced;
        counters = counted;
    }
    table keyless {
        actions = { nothing; }
        default_action = nothing();
        counters = counted_keyless;
    }
    table fixed {
        key = { hdr.h.key: lpm; }
        actions = { nothing; }
        const default_action = nothing();
        counters = counted_fixed;
    }
    apply {
        sm.egress_spec = 1;
        meta.colour = 9;
        pace.apply();
        keyless.apply();
        fixed.apply();
        hdr.h.colour = meta.colour;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
