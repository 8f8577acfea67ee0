//# top: what may stand in a header
enum bit<8> E { A = 1 }
type bit<8> n_t; typedef bit<8> t_t; struct in_t { bit<4> x; bool y; }
header h_t { bit<8> a; int<8> b; bool c; E d; n_t e; t_t f; varbit<32> g; in_t i; }
//# top: what may stand in a struct
enum E { A } header h_t { bit<8> a; } header_union u_t { h_t h; } struct in_t { bool b; }
struct s_t { bit<8> a; E b; error c; h_t d; u_t e; in_t f; h_t[3] g; tuple<bit<8>, bool> h; bool i; varbit<8> j; u_t[2] k; int<4> l; }
//# top: empty types
struct s_t { } header h_t { } header_union u_t { }
//# top: scopes of fields
struct a_t { bit<8> x; } struct b_t { bit<8> x; a_t a_t; }
//# top: an enum's members have a scope of their own
enum E { A, B } enum F { A, B } const bit<8> A = 1;
//# top: a trailing comma in an enum
enum E { A, B, } enum bit<8> F { A = 1, B = 2, } error { X, Y, }
//# top: serializable members of one value
enum bit<8> F { A = 1, B = 1 }
//# top: serializable members by expressions
const bit<8> k = 3; enum bit<8> F { A = k, B = k + 1 } enum int<8> G { A = -1 }
//# core: errors and match kinds in several places
error { A } error { B, C } match_kind { mine } match_kind { yours }
//# top: functions of one name by their count
bit<8> f(in bit<8> x) { return x; } bit<8> f(in bit<8> x, in bit<8> y) { return x + y; }
const bool t = true; control C(inout bit<8> z) { apply { z = f(z); z = f(z, z); } }
//# top: a prototype repeated
extern X { X(); void f(); } extern X { X(); void f(); }
control C(in bit<8> x); control C(in bit<8> x);
//# top: stray semicolons
; const bit<8> k = 1; ; struct s_t { } ; ;
//# control: a local hides the outer name
action a() { bit<8> m8 = 1; m.m8 = m8; { bit<8> m8 = 2; m.m8 = m8; } }
//# control: a parameter hides the outer name
bit<8> x; action a(bit<8> x) { m.m8 = x; }
//# apply: blocks have scopes of their own
{ bit<8> x = 1; m.m8 = x; } { bit<16> x = 2; m.m16 = x; } if (m.f) { bool x = true; m.f = x; } else { bit<8> x = 1; m.m8 = x; }
//# top: a function of void that returns
void f() { return; } void g(in bool b) { if (b) { return; } }
//# top: functions that always return
bit<8> f(in bool b) { if (b) { return 1; } else { return 2; } }
bit<8> g(in bit<8> b) { switch (b) { 1: { return 1; } default: { return 2; } } }
bit<8> h(in bool b) { if (b) { return 1; } return 2; }
bit<8> i(in bool b) { { return 1; } }
//# top: results that name the function's own type parameters, or widths with a comparison
struct S<T> { T t; bit<8> n; }
header H<T> { T f; }
const int W = 8;
S<T> boxed<T>(in T x) { return { x, 3 }; }
tuple<T, T> twice<T>(in T x) { return { x, x }; }
H<T>[2] stacked<T>(in T x) { H<T>[2] r; r[0].f = x; return r; }
extern S<T> boxed_outside<T>(in T x);
bit<(W > 7 ? 3 : 4)> cut(in bit<(W >> 1)> x) { return x[2:0]; }
control c(inout bit<8> x) {
    apply {
        S<bit<8>> s = boxed_outside(x);
        s = boxed(x);
        x = twice(x)[1] + stacked(x)[0].f + boxed<bit<8>>(5).t;
    }
}
//# top: generic functions and their inference
T f<T>(in T x) { return x; } control C(inout bit<8> z) { apply { z = f(z); z = f<bit<8>>(z); z = f<bit<8>>(5); } }
//# top: default values and optional parameters
bit<8> f(in bit<8> x, in bit<8> y = 3) { return x + y; } extern void g(in bit<8> x, @optional in bit<8> y);
control C(inout bit<8> z) { apply { z = f(z); z = f(z, z); z = f(y = z, x = z); g(z); g(z, z); } }
//# top: named arguments
bit<8> f(in bit<8> x, in bit<8> y) { return x; } control C(inout bit<8> z) { apply { z = f(x = z, y = 1); z = f(y = 1, x = z); } }
//# top: nothing for an out parameter
void f(out bit<8> x) { x = 1; } control C() { apply { f(_); } }
//# top: l-values for out and inout parameters
struct s_t { bit<8> a; } header h_t { bit<8> a; }
void f(out bit<8> x) { x = 1; } void g(inout bit<4> x) { x = 1; }
control C(inout s_t s, inout h_t[3] h, inout bit<8> z) { apply { f(s.a); f(h[1].a); f(z); g(z[3:0]); bit<8> l; f(l); } }
//# top: an out parameter may be read
void f(out bit<8> x) { x = 1; x = x + 1; }
//# top: extern objects
extern X { X(); X(bit<8> a); void f(); bit<8> g(in bit<8> a); bit<8> g(in bit<8> a, in bit<8> b); T h<T>(in T x); }
control C(inout bit<8> z) { X() x; X(3) y; apply { x.f(); z = y.g(z); z = y.g(z, z); z = x.h(z); x.g(1); } }
//# top: generic extern objects
extern X<T> { X(T a); T get(); void set<U>(in T a, in U b); }
control C(inout bit<8> z) { X<bit<8>>(1) x; apply { z = x.get(); x.set(1, true); x.set<bool>(z, false); } }
//# top: object initialisers
extern X { X(); abstract bit<8> f(in bit<8> a); }
control C(inout bit<8> z) { X() x = { bit<8> f(in bit<8> a) { return a + 1; } }; apply { z = x.f(z); } }
//# top: extern functions
extern bit<8> f(in bit<8> x); extern void g(); extern T h<T>(in T x); extern void f(in bit<8> x, in bit<8> y);
control C(inout bit<8> z) { apply { z = f(z); g(); z = h(z); f(z, z); } }
//# top: an int without width as a parameter known when compiling
extern void f(int x); extern X { X(int a); } control C() { X(5) x; apply { f(3); } }
//# top: strings as parameters without direction
extern void f(string s); control C() { apply { f("a"); } }
//# top: sub-controls with constructors' parameters
control A(inout bit<8> x)(bit<8> k, bool b) { apply { if (b) { x = k; } } }
control C(inout bit<8> x) { A(3, true) a; A(k = 4, b = false) b; apply { a.apply(x); b.apply(x); a.apply(x); } }
//# top: sub-controls applied by their type
control A(inout bit<8> x) { apply { x = 1; } } control C(inout bit<8> x) { apply { A.apply(x); A.apply(x); } }
//# top: sub-parsers
parser A(out bit<8> x) { state start { x = 1; transition accept; } }
parser P(out bit<8> x) { A() a; state start { a.apply(x); transition next; } state next { A.apply(x); transition accept; } }
//# top: packages
control K<T>(inout T x); parser Q(); package S<T>(K<T> a, K<T> b, Q q, @optional K<T> c);
control A(inout bit<8> x) { apply { } } parser P() { state start { transition accept; } }
S(A(), A(), P()) main;
//# top: a package of packages
control K(); package S(K k); package T(S a, S b); control A() { apply { } }
S(A()) s; T(s, S(A())) main;
//# top: a main with type arguments
control K<T>(inout T x); package S<T>(K<T> a); control A(inout bit<8> x) { apply { } } S<bit<8>>(A()) main;
//# top: a program without main
const bit<8> k = 1;
//# top: a control's parameters may have other names than its type's
control K(in bit<8> x); package S(K k); control A(in bit<8> other) { apply { } } S(A()) main;
//# top: typedefs of everything
typedef bit<8> a_t; typedef a_t b_t; header h_t { b_t x; } typedef h_t c_t; typedef c_t[4] d_t; typedef tuple<a_t, bool> e_t; typedef error f_t;
struct s_t { c_t c; d_t d; e_t e; f_t f; }
//# top: new types of everything they may be of
typedef bit<8> a_t; type a_t b_t; type b_t c_t; type int<8> d_t; type bool e_t;
//# top: annotations everywhere
@a @b(1, x y "z") @c[1, "a", true] @d[k = 1, l = "b"] struct s_t { @e bit<8> a; }
@f enum E { A } @g header h_t { @h("x") bit<8> y; } @table @select(x) const bit<8> k = 1;
@name("n") control C(@i in bit<8> x) { @j action a(@k bit<8> y) { @l { } } apply { @m { } } }
//# top: balanced brackets in annotations
@a((x)[y]{z}) @b(()) @c const bit<8> k = 1;
//# top: known annotations in their form
@name("a" ++ "b") @deprecated("x") @noWarn("unused") @pure @noSideEffects extern void f();
@brief("x") @description("y") @id(0x5) control C() { @hidden @id(7) action a() { } apply { } }
@p4runtime_translation("x", 32) type bit<8> n_t; @p4runtime_translation("x", string) type bit<8> m_t; @p4runtime_translation("x", bit<32>) type bit<8> o_t;
@controller_header("packet_in") header h_t { @padding bit<8> a; }
//# top: pragma
@pragma mine 1 2 "x"
const bit<8> k = 1;
//# top: this, in an abstract method
extern X { X(); abstract bit<8> f(in bit<8> a); bit<8> g(in bit<8> a); }
control C(inout bit<8> z) { X() x = { bit<8> f(in bit<8> a) { return this.g(a); } }; apply { z = x.f(z); } }
//# core: type arguments left to be inferred in a constructor call, all or some
extern W<T, U> { W(T x, U y); T first(); U second(); }
control G<T>(inout T x);
package Pair<T, U>(G<T> a, G<U> b);
control c8(inout bit<8> x) { W<_, bool>(8w1, true) w; W<_, _>(x = 16w3, y = 8w2) v; apply { if (w.second()) { x = w.first() + v.second(); } } }
control c16(inout bit<16> x) { apply { } }
Pair<_, bit<16>>(c8(), c16()) one;
Pair<_, _>(c16(), c8()) other;
//# v1model-whole: externs that the target lacks are declarations
extern X<T> { X(bit<8> n); X(T n, string s); void go(inout T x); abstract void own(in T x); }
extern Y<T> { Y(bit<8> n); void go(inout T x); }
extern void custom(inout bit<8> x);
extern T made<T>(in T x);
struct two_t { bit<8> a; bit<8> b; }
header h_t { bit<8> a; }
struct H { h_t h; }
struct M { bit<8> a; }
Y<two_t>(3) outer;
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control N(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    Y<bit<8>>(3) y;
    action unused() { y.go(m.a); }
    apply { }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;
//# v1model-local: an action profile without a name
action a() { }
table t { key = { meta.m8: exact; } actions = { a; NoAction; } implementation = action_profile(4); }
table u { key = { meta.m8: exact; } actions = { a; NoAction; } implementation = action_profile(8); }
apply { t.apply(); u.apply(); }
//# v1model-local: annotations that are repeated
@name("one") @name("two") @max_group_size(3) @max_group_size(4)
action_selector(HashAlgorithm.crc16, 16, 8) s;
@mine(1) @mine(2) table t { key = { meta.m8: exact; meta.m16: selector; } actions = { NoAction; } implementation = s; }
apply { t.apply(); }
//# v1model-parser: a signed run-time index of a stack
int<32> i = 0;
packet.extract(hdr.stack[i]); i = i + 1; packet.extract(hdr.stack[(int)i]); meta.m8 = hdr.stack[i - 1].a;
//# v1model-local: no entries for a table without a key
table t { actions = { NoAction; } const entries = { } }
apply { t.apply(); }
