//# parser: labels of every form
state start { transition select(m.m8) { 1: a; 2 .. 5: b; 0x10 &&& 0xf0: a; _: accept; } }
state a { transition select(m.m8, m.m16, m.f) { (1, 2, true): b; (_, 3 .. 4, _): accept; (1 &&& 3, _, false): reject; default: accept; } }
state b { transition accept; }
//# parser: states before their declaration, and loops
state start { transition next; } state next { transition select(m.m8) { 0: start; default: next; } }
//# parser: a state without transition
state start { m.m8 = 1; }
//# parser: an empty select
state start { transition select(m.m8) { } }
//# parser: labels of enums, errors and bools
state start { transition select(m.en) { E.A: accept; default: s2; } }
state s2 { transition select(m.se, m.e, m.f) { (SE.P, error.NoError, true): accept; default: reject; } }
//# parser: labels of constants
const bit<8> k = 1; state start { transition select(m.m8) { k: accept; k + 1: accept; k .. 7: accept; 3 &&& k: reject; } }
//# parser: default in the middle
state start { transition select(m.m8) { default: accept; 1: reject; } }
//# parser: several labels the same
state start { transition select(m.m8) { 1: accept; 1: reject; } }
//# parser: a select over expressions
state start { transition select(m.m8 + 1, m.m16[7:0], (bit<4>)m.m8) { (1, 2, 3): accept; default: reject; } }
//# parser: a label in brackets
state start { transition select(m.m8) { (1): accept; default: reject; } }
//# parser: one default for several keys
state start { transition select(m.m8, m.m16) { _: accept; } }
//# parser: value sets
value_set<bit<8>>(4) vs; @name("x") value_set<tuple<bit<8>, bit<16>>>(2) ws; value_set<s_t>(3) xs;
state start { transition select(m.m8) { vs: accept; 1: reject; default: two; } }
state two { transition select(m.m8, m.m16) { ws: accept; (1, 2): reject; default: accept; } }
//# parser: locals and blocks
bit<8> l = 3; const bit<8> k = 2;
state start { bit<8> x = l; const bit<8> y = 1; { bit<8> x = 2; l = x; } if (m.f) { l = y; } else { l = k; } transition accept; }
//# parser: next, last and lastIndex
state start { p.extract(m.st.next); m.m8 = m.st.last.a; m.m32 = m.st.lastIndex; transition select(m.st.last.a) { 0: start; default: accept; } }
//# parser: what packets can do
state start { p.extract(m.h); p.extract<g_t>(m.g); p.extract<g_t>(_); p.advance(8); p.advance(m.m32); m.m8 = p.lookahead<bit<8>>(); m.h = p.lookahead<h_t>(); m.m32 = p.length(); verify(m.f, error.NoMatch); transition accept; }
//# core: extract with a width
header v_t { bit<8> n; varbit<320> o; }
parser P(packet_in p, out v_t v) { state start { p.extract(v, 16); p.extract(v, (bit<32>)v.n * 8); transition accept; } }
//# core: unions in parsers
header a_t { bit<8> x; } header b_t { bit<16> y; } header_union u_t { a_t a; b_t b; } struct h_t { u_t u; u_t[3] us; }
parser P(packet_in p, out h_t h) { state start { p.extract(h.u.a); p.extract(h.us.next.b); h.u.b.setValid(); transition select(h.u.isValid()) { true: accept; default: reject; } } }
//# core: emit of everything that holds headers
header a_t { bit<8> x; } header_union u_t { a_t a; } struct i_t { a_t a; } struct h_t { a_t a; a_t[2] s; u_t u; i_t i; u_t[2] us; }
control D(packet_out p, in h_t h) { apply { p.emit(h); p.emit(h.a); p.emit(h.s); p.emit(h.u); p.emit(h.i); p.emit(h.s[1]); p.emit<a_t>(h.a); } }
//# control: a table with everything
action a(inout bit<8> x, bit<8> y) { x = y; } action b(bit<8> y, bool z, E e) { m.m8 = y; } action c() { }
@name("tab") table t {
    key = { m.m8: exact @name("k"); m.m16: lpm; m.m32: ternary; m.h.isValid(): exact; m.f: exact; m.m16[7:0]: exact; m.se: exact; m.n: exact; m.e: exact; m.m8 & 0xf: ternary; m.m8 + 1: exact @name("sum"); m.st[0].a: exact; }
    actions = { a(m.m8); b; @tableonly c; @defaultonly NoAction; }
    const default_action = NoAction();
    size = 1024;
}
apply { t.apply(); if (t.apply().hit) { } else if (!t.apply().miss) { } switch (t.apply().action_run) { a: { } b: c: { } default: { } } bool h = t.apply().hit; }
//# control: entries
action a(bit<8> y) { }
table t {
    key = { m.m8: exact; m.m16: lpm; m.m32: ternary; }
    actions = { a; NoAction; }
    const entries = { (1, 0x100 &&& 0xff00, _): a(1); (2, _, 1 &&& 3): NoAction; (3, 5, 6): a(2); (4, _, _): NoAction() @priority(3); (5, _, _): a(3); }
}
//# control: entries with priorities
table t { key = { m.m8: ternary; } actions = { NoAction; } largest_priority_wins = false; priority_delta = 10; entries = { const priority = 10: 1: NoAction(); priority = (5 + 15): 2: NoAction; 3: NoAction(); } }
//# control: empty entries, keys and sizes
table t { key = { } actions = { NoAction; } } table u { key = { m.m8: exact; } actions = { NoAction; } const entries = { } size = 0; }
//# control: default actions
action a(bit<8> y) { } action b(inout bit<8> x, bit<8> y) { }
table t { actions = { a; b(m.m8); NoAction; } default_action = a(5); }
table u { actions = { a; b(m.m8); } default_action = b(m.m8, 1); }
table v { actions = { NoAction; } default_action = NoAction; }
table w { actions = { a; } default_action = a(y = 3); }
//# control: actions call actions
action a(in bit<8> x) { m.m8 = x; } action b(bit<8> y) { a(y); a(3); return; } action c() { exit; }
apply { a(1); b(2); c(); }
//# control: keys that are constants
table t { key = { 8w5: exact @name("five"); true: exact @name("yes"); } actions = { NoAction; } }
//# control: locals, constants and instances
bit<8> v = 3; const bit<8> k = 4; X() x; action a() { v = k; x.go(); }
apply { bit<8> w = v; x.go(); m.m8 = w; a(); }
//# control: exit and return
apply { if (m.f) { exit; } return; }
//# apply: switches over values
switch (m.m8) { 1: { m.m8 = 2; } 2: 3: { } default: { } }
switch (m.en) { E.A: { } default: { } } switch (m.se) { SE.P: { } } switch (m.m8 + 1) { 8w5: { } } switch (m.e) { error.NoMatch: { } default: { } }
//# apply: loops
for (bit<8> i = 0; i < 8; i = i + 1) { m.m8 = m.m8 + i; if (i == 3) { break; } if (i == 2) { continue; } }
for (bit<8> i in 0 .. 7) { m.m8 = i; } for (bit<8> i = 0, bit<8> j = 1; i < j; i = i + 1, j = j - 1) { } for (; m.f; ) { m.f = false; }
for (bit<8> i in 8w1 .. m.m8) m.m8 = i;
//# apply: empty statements and blocks
; ; { } { ; } if (m.f) ; else ; if (m.f) { } else { }
//# apply: dangling else
if (m.f) if (m.f) m.m8 = 1; else m.m8 = 2;
//# action: what actions may do
m.m8 = 1; if (m.f) { m.m8 = 2; } bit<8> x = 1; m.h.setValid(); m.st.push_front(1); for (bit<8> i in 0 .. 3) { m.m8 = i; } return;
