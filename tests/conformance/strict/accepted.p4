//# v1model: shifts by few bits
meta.m16 = meta.m16 << meta.m8; meta.m16 = meta.m16 >> 16w5;
//# v1model: a shift and a quotient by variables that are constant
bit<16> amount = 3; meta.m16 = (meta.m16 << amount) / amount;
//# v1model-local: a loop in an action
action a() { for (bit<8> i = 0; i < 3; i = i + 1) { meta.m8 = i; } }
table t { actions = { a; NoAction; } }
apply { t.apply(); }
//# v1model-local: a table in two branches with one continuation
table u { actions = { NoAction; } }
table t { actions = { NoAction; } }
apply { if (meta.flag) { t.apply(); } else { t.apply(); } u.apply(); }
//# v1model-local: a table in two branches, one left by return
table t { actions = { NoAction; } }
apply { if (meta.flag) { t.apply(); return; } t.apply(); }
//# v1model: a switch on a value in apply
switch (meta.m8) { 1: { meta.m8 = 2; } default: { } }
//# v1model: a hash of a list
hash(meta.m16, HashAlgorithm.crc16, 16w0, { meta.m8 }, 16w9);
//# v1model-local: actions with numbers
action a(bit<8> y, int<16> z) { meta.m8 = y; }
table t { key = { meta.m8: lpm; meta.m16: exact; } actions = { a; NoAction; } }
apply { t.apply(); }
//# v1model-parser: what parsers do
bit<8> x = 1; packet.extract(hdr.one); packet.advance(8); x = packet.lookahead<bit<8>>(); verify(x != 0, error.NoMatch);
hdr.two.setInvalid(); log_msg("a"); if (x == 1) { meta.m8 = x; }
//# v1model-verify: checksums under any condition
verify_checksum(hdr.one.isValid() && meta.m8 > 3, { meta.m8, hdr.one.a, 8w0 }, meta.m16, HashAlgorithm.csum16);
//# v1model-deparser: emits
packet.emit(hdr.two); packet.emit(hdr.stack); packet.emit(hdr.one);
//# v1model-local: actions listed with arguments
action a(inout bit<8> x, bit<8> y) { x = y; }
table t { key = { meta.m8: lpm; } actions = { a(meta.m8); NoAction; } const default_action = a(meta.m8, 3); }
apply { t.apply(); }
//# v1model-blocks: a struct of headers among the headers
header one_t { bit<8> a; }
struct inner_t { one_t one; one_t[2] more; }
struct headers_t { one_t one; inner_t inner; }
struct meta_t { bit<8> m8; bit<16> m16; bit<32> m32; }
//# v1model-local: a direct meter that no table has and nobody reads
direct_meter<bit<2>>(MeterType.bytes) m;
//# v1model: quotients by constants
meta.m16 = meta.m16 / 4; meta.m16 = meta.m16 % 16w4;
//# v1model-parser: the next element is written
packet.extract(hdr.stack.next); hdr.stack.next.setValid(); hdr.stack.next = { 1, 2, 3 };
//# v1model-whole: a bool for an action that is only called
header h_t { bit<8> a; }
struct H { h_t h; }
struct M { bit<8> a; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control N(inout H h, inout M m) { apply { } }
action chosen(bool b) { bool unused = b; }
control I(inout H h, inout M m, inout standard_metadata_t s) { apply { chosen(m.a == 1); } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;
//# v1model-whole: what constructors are given is constant
header h_t { bit<8> a; bit<16> b; }
struct H { h_t h; }
struct M { bit<32> a; }
parser Deep(packet_in p, out H h)(bit<8> tag) {
    state start { p.extract(h.h); transition select(h.h.a) { tag: accept; default: reject; } }
}
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    Deep(8w3) deep;
    state start { deep.apply(p, h); transition accept; }
}
control Hash(in bit<8> key, out bit<32> at)(HashAlgorithm algorithm, bit<32> by) {
    apply { hash(at, algorithm, 32w0, { key }, 32w16); at = at << by; }
}
control I(inout H h, inout M m, inout standard_metadata_t s) {
    Hash(HashAlgorithm.crc16, 2) hashed;
    apply { hashed.apply(h.h.a, m.a); }
}
control N(inout H h, inout M m) { apply { } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;
