//# v1model-blocks: a struct among the headers
header one_t { bit<8> a; }
struct inner_t { one_t one; }
struct headers_t {
    one_t one;
    inner_t inner; //! TARGET
}
struct meta_t { bit<8> m8; bit<16> m16; bit<32> m32; }
//# v1model-local: a register of bools
register<bool>(4) r; //! TARGET
//# v1model-local: an empty register
register<bit<8>>(0) r; //! TARGET
//# v1model: a shift by 16 bits' worth
meta.m16 = meta.m16 << meta.m16; //! TARGET
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
//# v1model-local: an action listed with arguments
action a(inout bit<8> x, bit<8> y) { x = y; }
table t {
    key = { meta.m8: lpm; }
    actions = {
        a(meta.m8); //! TARGET
        NoAction;
    }
}
apply { t.apply(); }
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
