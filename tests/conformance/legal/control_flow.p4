//# apply: switch on expression
switch (m.m8) { 1: { m.m8 = 2; } 2: 3: { m.m8 = 3; } default: { } }
switch (m.en) { E.A: { } E.B: { } }
switch (m.se) { SE.P: { } default: }
switch (m.i8) { -1: { } 8s5: { } }
switch (m.e) { error.NoError: { } }
switch (m.m8 + 1) { 1: }
switch (m.m8) { }
//# control: switch on NoAction by default
action a() { } table t1 { actions = { a; } }
apply { switch (t1.apply().action_run) { NoAction: { } a: { } } }
//# control: hit and miss
table t1 { actions = { NoAction; } }
apply { if (t1.apply().hit) { } if (!t1.apply().miss && m.f) { } bool h = t1.apply().hit; m.m8 = t1.apply().hit ? 8w1 : 2; }
//# apply: loops
for (bit<8> i = 0; i < 10; i = i + 1) { m.m8 += i; }
for (bit<8> i = 0, bit<8> j = 3; i < j; i += 1, j -= 1) m.m8 += i;
for (;m.m8 < 5;) { m.m8 += 1; if (m.f) break; else continue; }
for (bit<8> i in 1..5) { m.m8 += i; }
for (bit<8> i in 8w1..8w5) { m.m8 += i; }
for (bit<8> i in m.m8..5) { m.m8 += i; }
for (h_t h in m.st) { m.m8 += h.a; }
for (bit<8> i in (list<bit<8>>){1, 2, 3}) { m.m8 += i; }
for (bit<8> i in {1, 2, 3}) { m.m8 += i; }
for (@x bit<8> i in 1..5) { }
@unroll for (bit<8> i in 1..5) { for (bit<8> j in 1..5) { break; } continue; }
//# state: if, blocks
if (m.f) { m.m8 = 1; } else if (m.m8 == 1) m.m8 = 2; else { bit<8> x = 1; m.m8 = x; } { m.m8 = 3; } ; const bit<8> k = 3; m.m8 = k; p.advance(8); m.m8 = p.lookahead<bit<8>>(); verify(m.f, error.NoError); p.extract(m.h); p.extract<h_t>(m.h); p.extract<h_t>(_); m.m32 = p.length();
//# parser: select
state start { transition select(m.m8, m.m16) { (1, 2): a; (1 &&& 3, _): a; (1..3, default): a; default: b; } }
state a { transition select(m.f, m.se, m.e) { (true, SE.P, error.NoError): b; (_, _, _): accept; } }
state b { transition select(m.m8) { 0x10 &&& 0xF0: accept; 5..7: accept; 8w9: reject; _: accept; } }
//# parser: select of a tuple
state start { transition select({m.m8, m.m16}) { (1, 2): accept; default: reject; } }
//# parser: select of a tuple variable
state start { transition select(m.t) { (1, true): accept; default: reject; } }
//# parser: state named like a parameter
state start { transition m; } state m { transition accept; }
//# parser: value sets
value_set<bit<8>>(4) v1; value_set<tuple<bit<8>, bit<16>>>(4) v2; value_set<SE>(2) v3;
state start { transition select(m.m8) { v1: a; default: accept; } }
state a { transition select(m.m8, m.m16) { v2: b; default: accept; } }
state b { transition select(m.se) { v3: accept; default: accept; } }
//# control: key expressions
action a() { } table t1 { key = { m.m8 : exact; m.m8[3:0] : exact; m.h.isValid() : exact; m.st[0].a : ternary; m.m8 + 1 : lpm @name("x"); m.m8 & 5 : ternary; m.en : exact; m.e : exact; m.se : exact; m.f : exact; m.i8 : exact; m.n : exact; } actions = { a; } }
apply { t1.apply(); }
//# control: an unknown property
action a() { } table t1 { actions = { a; } foo = 5; bar = { 1, 2 }; }
apply { t1.apply(); }
//# control: default_action forms
action a(bit<8> x) { } action b() { } table t1 { actions = { a; b; } default_action = a(5); } table t2 { actions = { a; b; } const default_action = b; } table t3 { actions = { a; b; NoAction; } default_action = .NoAction; } table t4 { actions = { @defaultonly a; @tableonly b; } default_action = a(x = 3); }
apply { t1.apply(); t2.apply(); t3.apply(); t4.apply(); }
