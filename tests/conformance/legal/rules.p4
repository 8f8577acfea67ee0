//# core: bits to int, as p4c
const int z2 = 2w3; const int z3 = 2s3;
//# core: implicit serenum to int width
enum bit<8> E { A = 1 }
control c(inout bit<8> x) { apply { x = E.A + 1; x = true ? E.A : x; bool b = E.A == x; b = x == E.A; b = E.A == 1; b = E.A < 2; x = -E.A; x = ~E.A; switch (x) { E.A: {} default: {} } } }
//# core: function generic struct
struct S<T> { T x; T y; }
T first<T>(in S<T> s) { return s.x; }
S<T> mk<T>(in T a, in T b) { S<T> s; s.x = a; s.y = b; return s; }
control c(inout bit<8> x) { apply { x = first(mk(x, x)); x = first<bit<8>>(mk<bit<8>>(1, 2)); S<bit<8>> q = { 1, 2 }; x = first(q); } }
//# core: generic inference by return only
extern T f<T>();
control c(inout bit<8> x) { apply { x = f<bit<8>>(); } }
//# core: generic extern constructor inference
extern R<T> { R(T init); T get(); void set(in T v); }
control c(inout bit<8> x) { R(8w5) r; R<bit<8>>(5) q; R<_>(8w5) s; apply { x = r.get(); q.set(x); s.set(1); } }
//# core: overloaded functions
bit<8> f(in bit<8> a) { return a; } bit<8> f(in bit<8> a, in bit<8> b) { return a + b; }
control c(inout bit<8> x) { apply { x = f(x) + f(x, x); } }
//# core: overloaded functions with other names
bit<8> f(in bit<8> a) { return a; } bit<8> f(in bit<8> b) { return b; }
control c(inout bit<8> x) { apply { x = f(a = x) + f(b = x); } }
//# core: slices as l-values
void f(out bit<4> a) { a = 1; }
control c(inout bit<8> w) { apply { w[3:0] = 1; f(w[7:4]); w[7:4][1:0] = 2; w[0+:4] = 3; w[3:0] += 1; } }
//# core: last as an l-value
header H { bit<8> a; } struct S { H[3] h; }
parser p(packet_in b, inout S s) { state start { b.extract(s.h.next); s.h.last.a = 1; s.h.next.setValid(); transition accept; } }
//# core: tuple element types are structural
typedef tuple<bit<8>, bit<16>> tt;
control c(inout tuple<bit<8>, bit<16>> a, inout tt b) { apply { a = b; b = a; } }
