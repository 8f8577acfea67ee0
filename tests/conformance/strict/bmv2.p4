//# v1model-whole: a struct with a number among the headers
header h_t { bit<8> a; }
struct inner_t { h_t h; bit<8> b; }
struct H {
    h_t h;
    inner_t inner; //! TARGET
}
struct M { bit<8> a; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control N(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h.h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;
//# v1model-local: a register of bools
register<bool>(4) r; //! TARGET
//# v1model-local: an empty register
register<bit<8>>(0) r; //! TARGET
//# v1model: a shift by 16 bits' worth
meta.m16 = meta.m16 << meta.m16; //! TARGET
//# v1model: a shift by a variable that changes
bit<16> amount = 3;
if (meta.flag) { amount = 4; }
meta.m16 = meta.m16 << amount; //! TARGET
//# v1model: a shift by a constant beyond 256
meta.m16 = meta.m16 >> 300; //! TARGET
//# v1model: an update in place with a shift by 16 bits' worth
meta.m16 <<= meta.m16; //! TARGET
//# v1model: a loop in apply
for (bit<8> i = 0; i < 3; i = i + 1) { meta.m8 = i; } //! TARGET
//# v1model: a loop over a range
for (bit<8> i in 0 .. 3) { meta.m8 = i; } //! TARGET
//# v1model-local: a loop over a range in an action
action a() {
    for (bit<8> i in 0 .. 3) { meta.m8 = i; } //! TARGET
}
table t { actions = { a; NoAction; } }
apply { t.apply(); }
//# v1model-local: a switch in an action
action a() {
    switch (meta.m8) { 1: { meta.m8 = 2; } } //! TARGET
}
table t { actions = { a; NoAction; } }
apply { t.apply(); }
//# v1model: a hash of one number
hash(meta.m16, HashAlgorithm.crc16, 16w0, meta.m8, 16w9); //! TARGET
//# v1model-local: an action with a bool
action a(bool b) { } //! TARGET
table t { actions = { a; NoAction; } }
apply { t.apply(); }
//# v1model-local: two lpm keys
table t {
    key = {
        meta.m8: lpm;
        meta.m16: lpm; //! TARGET
    }
    actions = { NoAction; }
}
apply { t.apply(); }
//# v1model-local: a table twice on one path
table t { actions = { NoAction; } }
apply {
    t.apply();
    t.apply(); //! TARGET
}
//# v1model: a switch on an error
switch (meta.e) { error.NoError: { meta.m8 = 1; } default: { } } //! TARGET
//# v1model: quotients by a run-time value
meta.m16 = meta.m16 / (bit<16>)meta.m8; //! TARGET
meta.m16 = meta.m16 % (bit<16>)meta.m8; //! TARGET
//# v1model: signed operands of ++
int<16> a = meta.s8 ++ meta.m8; //! TARGET
meta.m16 = meta.m8 ++ meta.s8; //! TARGET
//# v1model-local: a key of an enum without values
HashAlgorithm algorithm = HashAlgorithm.crc16;
table t {
    key = {
        algorithm: exact; //! TARGET
    }
    actions = { NoAction; }
}
apply { t.apply(); }
//# v1model-whole: a generic struct in itself
header h_t { bit<8> a; }
struct H { h_t h; }
struct M { bit<8> a; }
struct box_t<T> { T value; bool full; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control N(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        box_t<box_t<bit<8>>> two = { { m.a, false }, true }; //! TARGET
        m.a = two.value.value;
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;
//# v1model-whole: names that v1model.p4 declares
header h_t { bit<8> a; }
struct H { h_t h; }
struct M { bit<8> a; }
parser Parser(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } } //! TARGET
control N(inout H h, inout M m) { apply { } }
control Ingress(inout H h, inout M m, inout standard_metadata_t s) { apply { } } //! TARGET
control Egress(inout H h, inout M m, inout standard_metadata_t s) { apply { } } //! TARGET
control Deparser(packet_out p, in H h) { apply { p.emit(h); } } //! TARGET
V1Switch(Parser(), N(), Ingress(), Egress(), N(), Deparser()) main;
//# v1model-local: a table in two branches that go on differently
table u { actions = { NoAction; } }
table t { actions = { NoAction; } }
apply { if (meta.flag) { t.apply(); u.apply(); } else { t.apply(); } } //! TARGET
//# v1model-local: a table in two branches, its result looked at
table t { actions = { NoAction; } }
apply { if (meta.flag) { if (t.apply().hit) { meta.m8 = 1; } } else { t.apply(); } } //! TARGET
//# v1model-parser: a range of many masks
packet.extract(hdr.two);
transition select(hdr.two.x) {
    0x00000001 .. 0xfffffffe: accept;
    default: next;
}
}
state next {
transition select(meta.m8) {
    1 .. 254: accept;
    meta.m8: reject; //! TARGET
    _: accept;
}
}
state last {
//# v1model-parser: the packet's length
meta.m32 = packet.length(); //! TARGET
//# v1model-parser: a random number
random(meta.m8, 0, 5); //! TARGET
//# v1model-parser: an assertion
assert(meta.m8 == 0); //! TARGET
//# v1model-parser: a field of the next element
meta.m8 = hdr.stack.next.a; //! TARGET
packet.extract(hdr.stack.next);
//# v1model-verify: an assignment
meta.m8 = 1; //! TARGET
//# v1model-verify: a condition
if (meta.flag) { verify_checksum(true, { meta.m8 }, meta.m16, HashAlgorithm.csum16); } //! TARGET
//# v1model-verify: a computation in the data
verify_checksum(true, { meta.m8 + 1 }, meta.m16, HashAlgorithm.csum16); //! TARGET
//# v1model-verify: data that is one number
verify_checksum(true, meta.m8, meta.m16, HashAlgorithm.csum16); //! TARGET
//# v1model-deparser: a condition
if (hdr.one.isValid()) { packet.emit(hdr.two); } //! TARGET
//# v1model-deparser: a variable
bit<8> x = 1; //! TARGET
//# v1model-local: a direct meter that nobody reads
direct_meter<bit<2>>(MeterType.bytes) m; //! TARGET
table t { actions = { NoAction; } meters = m; }
apply { t.apply(); }
//# v1model-local: a direct meter that no table has
direct_meter<bit<8>>(MeterType.bytes) m; //! TARGET
apply { m.read(meta.m8); }
//# v1model-local: a direct meter that is read into two places
direct_meter<bit<8>>(MeterType.bytes) m;
action a() { m.read(meta.m8); }
action b() {
    m.read(hdr.one.a); //! TARGET
}
table t { key = { meta.m8: exact; } actions = { a; b; NoAction; } meters = m; }
apply { t.apply(); }
//# v1model-local: a selector with two lists of keys
action_selector(HashAlgorithm.crc16, 16, 8) s;
table t { key = { meta.m8: exact; meta.m16: selector; } actions = { NoAction; } implementation = s; }
table u { key = { meta.m8: exact; meta.m32: selector; } actions = { NoAction; } implementation = s; } //! TARGET
apply { t.apply(); u.apply(); }
