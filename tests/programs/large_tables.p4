/* Tables for many entries: with an action each, with time-outs, with an action selector. */
#include <core.p4>
#include <v1model.p4>
header h_t { bit<16> key; bit<32> flow; bit<32> value; }
struct headers_t { h_t h; }
struct metadata_t { }
parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action_selector(HashAlgorithm.crc32, 64, 16) selector;
    action nothing() { }
    action send(bit<9> port, bit<32> value) { sm.egress_spec = port; hdr.h.value = value; }
    table forward {
        key = { hdr.h.key: exact; hdr.h.flow: exact; }
        actions = { send; nothing; @defaultonly NoAction; }
        size = 150000;
    }
    table aging {
        key = { hdr.h.key: exact; hdr.h.flow: exact; }
        actions = { send; nothing; @defaultonly NoAction; }
        support_timeout = true;
        size = 150000;
    }
    table grouped {
        key = { hdr.h.flow: exact; hdr.h.key: selector; }
        actions = { send; nothing; }
        implementation = selector;
        size = 150000;
    }
    apply {
        sm.egress_spec = 1;
        forward.apply();
        aging.apply();
        grouped.apply();
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply {} }
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
