//# v1model: mark_to_drop of a number
mark_to_drop(meta.m8); //! TYPE
//# v1model: mark_to_drop of too much
mark_to_drop(sm, sm); //! TYPE
//# v1model: a field that standard_metadata does not have
sm.nothing = 1; //! NAME
//# v1model: a port of the wrong width
sm.egress_spec = meta.m8; //! TYPE
//# v1model: hash into a number that is none
hash(16w1, HashAlgorithm.crc16, 16w0, { meta.m8 }, 16w9); //! DIRECTION
//# v1model: hash with an unknown algorithm
hash(meta.m16, HashAlgorithm.md5, 16w0, { meta.m8 }, 16w9); //! NAME
//# v1model: hash without an algorithm
hash(meta.m16, 16w0, { meta.m8 }, 16w9); //! TYPE
//# v1model: hash with numbers without a width
hash(meta.m16, HashAlgorithm.crc16, 0, { meta.m8 }, 9); //! TYPE
//# v1model: verify_checksum in ingress
verify_checksum(true, { meta.m8 }, meta.m16, HashAlgorithm.csum16); //! TARGET
//# v1model: update_checksum in ingress
update_checksum(true, { meta.m8 }, meta.m16, HashAlgorithm.csum16); //! TARGET
//# v1model: update_checksum into a number that is none
update_checksum(true, { meta.m8 }, 16w1, HashAlgorithm.csum16); //! DIRECTION
//# v1model: a register in apply
register<bit<8>>(4) r; //! PLACE
//# v1model: recirculation without a list's number
recirculate_preserving_field_list(); //! TYPE
//# v1model: a clone of an unknown type
clone(CloneType.X2Y, 5); //! NAME
//# v1model: a clone without a session
clone(CloneType.I2E); //! TYPE
//# v1model: random of unlike widths
random(meta.m8, 8w0, 16w5); //! TYPE
//# v1model: truncate by a bool
truncate(true); //! TYPE
//# v1model: a log message that is not a string
log_msg(5); //! TYPE
//# v1model: assert of a number
assert(meta.m8); //! TYPE
//# v1model-local: a register without its type
register(4) r; //! TYPE
//# v1model-local: a register without its size
register<bit<8>>() r; //! TYPE
//# v1model-local: a counter of an unknown unit
counter(4, CounterType.words) c; //! NAME
//# v1model-local: a counter without a unit
counter(4) c; //! TYPE
//# v1model-local: a counter's size as a text
counter("4", CounterType.bytes) c; //! TYPE
//# v1model-local: a meter with a counter's unit
meter(4, CounterType.bytes) c; //! TYPE
//# v1model-local: a register read into another width
register<bit<8>>(4) r;
action a() {
    r.read(meta.m16, 0); //! TYPE
}
//# v1model-local: a register written with another width
register<bit<8>>(4) r;
action a() {
    r.write(0, meta.m16); //! TYPE
}
//# v1model-local: a register's index of another width
register<bit<8>>(4) r;
action a() {
    r.write(meta.m16, meta.m8); //! TYPE
}
//# v1model-local: a counter that is read
counter(4, CounterType.bytes) c;
action a() {
    c.read(meta.m8, 0); //! NAME
}
//# v1model-local: a table's counters of another extern
register<bit<8>>(4) r;
table t {
    actions = { NoAction; }
    counters = r; //! TYPE
}
//# v1model-local: a table's counters that are a number
table t {
    actions = { NoAction; }
    counters = 5; //! TYPE
}
//# v1model-local: a table's implementation that is a counter
counter(4, CounterType.bytes) c;
table t {
    actions = { NoAction; }
    implementation = c; //! TYPE
}
//# v1model-whole: a main of another package
control K();
package Other(K k);
control A() { apply { } }
Other(A()) main; //! TARGET
//# v1model-whole: a switch with too few blocks
struct h_t { }
struct m_t { }
parser P(packet_in b, out h_t h, inout m_t m, inout standard_metadata_t s) { state start { transition accept; } }
V1Switch(P()) main; //! TYPE
//# v1model-whole: blocks in the wrong order
struct h_t { }
struct m_t { }
parser P(packet_in b, out h_t h, inout m_t m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout h_t h, inout m_t m) { apply { } }
control I(inout h_t h, inout m_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in h_t h) { apply { } }
V1Switch(P(), I(), V(), I(), V(), D()) main; //! TYPE
//# v1model-whole: blocks of unlike headers
struct h_t { }
struct g_t { }
struct m_t { }
parser P(packet_in b, out h_t h, inout m_t m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout h_t h, inout m_t m) { apply { } }
control I(inout h_t h, inout m_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in g_t h) { apply { } }
V1Switch(P(), V(), I(), I(), V(), D()) main; //! TYPE
//# v1model-whole: a block of unlike metadata
struct h_t { }
struct m_t { }
struct n_t { }
parser P(packet_in b, out h_t h, inout n_t m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout h_t h, inout m_t m) { apply { } }
control I(inout h_t h, inout m_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in h_t h) { apply { } }
V1Switch(P(), V(), I(), I(), V(), D()) main; //! TYPE
//# v1model: recirculation in ingress
recirculate_preserving_field_list(1); //! TARGET
//# v1model: a clone of egress in ingress
clone(CloneType.E2E, 5); //! TARGET
//# v1model-blocks: a header of 12 bits
header twelve_t { bit<12> a; } //! TARGET
struct headers_t { twelve_t t; }
struct meta_t { bit<8> m8; bit<16> m16; bit<32> m32; }
//# v1model-blocks: a header of two varbits
header two_t { varbit<8> a; varbit<8> b; } //! TARGET
struct headers_t { two_t t; }
struct meta_t { bit<8> m8; }
//# v1model-whole: calls of externs that the target lacks
extern Y<T> { Y(bit<8> n); void go(inout T x); }
extern void custom(inout bit<8> x);
header h_t { bit<8> a; }
struct H { h_t h; }
struct M { bit<8> a; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control N(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    Y<bit<8>>(3) y;
    action used() {
        y.go(m.a); //! UNSUPPORTED
    }
    table t { actions = { used; } default_action = used; }
    apply {
        custom(m.a); //! UNSUPPORTED
        t.apply();
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;
