//# core: packets handed on
header H { bit<8> a; } control sub(packet_out b, in H h) { apply { b.emit(h); } } control dep(packet_out b, in H h) { sub() s; apply { s.apply(b, h); sub.apply(b, h); b.emit({}); } } void f(packet_out b, in H h) { b.emit(h); } control dep2(packet_out b, in H h) { apply { f(b, h); } }
//# core: extract where no parser is
header H { bit<8> a; } void f(packet_in b, out H h) { b.extract(h); } control c(packet_in b, out H h) { apply { b.extract(h); bit<8> x = b.lookahead<bit<8>>(); b.advance(8); } } parser p(packet_in b, out H h) { state start { f(b, h); transition accept; } }
//# core: hit in expressions
control c() { table t { actions = { NoAction; } } table u { actions = { NoAction; } } apply { bool h = t.apply().hit == true; h = !t.apply().hit && u.apply().miss || h; bit<8> x = u.apply().hit ? 8w1 : 2; if (t.apply().miss == u.apply().hit) { } } }
//# core: returning and giving structures
struct S { bit<8> a; bit<16> b; } header H { bit<8> a; } S f() { return { 1, 2 }; } S g() { return { b = 1, a = 2 }; } H h() { return { 1 }; } H k() { return {#}; } tuple<bit<8>, bool> l() { return { 1, true }; } void m(in S s, in H x, in tuple<bit<8>, bool> t) { } S n() { return ...; }
control c() { apply { m({1, 2}, {3}, {4, false}); m(f(), h(), l()); m({a = 1, b = 2}, {a = 3}, {4, false}); S s = f(); bit<8> y = g().a + l()[0] + h().a; m(..., ..., ...); m({1, ...}, {#}, {...}); } }
//# core: equality between lists, tuples and structs
struct S { bit<8> a; bit<16> b; } control c(in S s, in tuple<bit<8>, bit<16>> t) { apply { bool e = s == {1, 2}; e = {1, 2} == s; e = t == {1, 2}; e = s == {a = 1, b = 2}; e = {s.a, s.b} == t; e = {8w1, 2} == {1, 16w2}; e = s != (S){1, 2}; e = t != {s.a, s.b}; } }
//# core: a parser with ifs, calls and constants in states
header H { bit<8> a; } bit<8> f(in bit<8> x) { return x + 1; } parser q(packet_in b, inout bit<8> x) { state start { x = f(x); transition select(x) { 1: reject; default: accept; } } }
parser p(packet_in b, out H h) { bit<8> n = 1; q() i; state start { const bit<8> k = 2; bit<8> m; m = f(k) + n; if (m == 3) { b.extract(h); } else if (m == 4) { i.apply(b, n); } else { verify(false, error.NoMatch); } { m = 1; } transition select(m, b.length()) { (k, 5): next; (k + 1 &&& 0xf, 1 .. 9): next; (_, _): accept; } } state next { transition start; } }
//# core: a state with only a name
parser p(packet_in b) { state start { ; } } parser q(packet_in b) { state start { transition next; } state next { } }
//# core: an unreachable and a looping state
parser p(packet_in b) { state start { transition start; } state never { transition accept; } }
//# core: instances in parsers
extern X { X(bit<8> a); bit<8> get(); } parser p(packet_in b)(bit<8> n) { X(n) x; X(n + 1) y; state start { transition select(x.get() + y.get()) { 0: accept; default: reject; } } }
//# core: table annotations and unknown properties
control c(inout bit<8> x) { table t { key = { x: exact; } actions = { NoAction; } my_prop = 5; const other = true; third = { 1, 2 }; fourth = "abc"; size = 10; } apply { t.apply(); } }
//# core: priority as a property and a name
control c(inout bit<8> priority) { table t { key = { priority: exact; } actions = { NoAction; } priority = 5; } apply { t.apply(); } }
//# core: entries with priorities
control c(inout bit<8> x) { action a() { } table t { key = { x: ternary; } actions = { a; } entries = { const priority = 10: 1 &&& 1: a(); priority = (5 + 1): _: a(); 3: a(); const 4: a(); } } apply { t.apply(); } }
//# core: functions that call each other in order
bit<8> f(in bit<8> x) { return x; } bit<8> g(in bit<8> x) { return f(f(x)); } bit<8> h(inout bit<8> x, out bit<8> y) { y = g(x); x = f(y); return x; }
control c(inout bit<8> x) { bit<8> y; apply { x = h(x, y) + h(y, x); if (h(x, y) == 1 && h(x, y) != 2) { h(x, y); } } }
//# core: nested blocks, returns and exits
control c(inout bit<8> x) { action a() { if (x == 1) return; { if (x == 2) { exit; } } x = 3; } apply { if (x == 1) { return; } else { a(); } { { return; } } x = 1; exit; } }
//# core: a switch that falls and one without a body
control c(inout bit<8> x) { action a() { } action b() { } table t { actions = { a; b; } } apply { switch (t.apply().action_run) { a: b: } switch (t.apply().action_run) { } switch (t.apply().action_run) { default: { } } switch (x) { 1: 2: { x = 1; } default: } } }
//# core: a varbit of a struct type in an extern
extern T f<T>(in T x); header H { varbit<16> v; } control c(inout H h) { apply { h.v = f(h.v); } }
//# core: tuples of everything, nested
header H { bit<8> a; } struct S { bit<8> a; } enum E { A } control c(in H h, in S s) { tuple<H, S, E, error, tuple<bit<8>, bool>, H[2]> t; bit<8> x; apply { x = t[4][0]; x = t[0].a; x = t[1].a; x = t[5][1].a; bool b = t[4][1]; E e = t[2]; } }
