//# core: object initialisers that call and hold
extern V { V(); bit<8> g(); abstract bit<8> f(in bit<8> x); } extern W { W(); bit<8> h(); }
V() v = { W() w; bit<8> f(in bit<8> x) { return x + this.g() + w.h(); } };
control c() { V() l = { bit<8> f(in bit<8> x) { return x; } }; apply { bit<8> y = v.f(1) + l.f(2) + v.g(); } }
//# core: extern constructors with defaults and optional parameters
extern X { X(bit<8> a, bit<8> b = 2, @optional bit<8> c); } control c() { X(1) p; X(1, 2, 3) q; X(a = 1, c = 3) r; X(b = 1, a = 2) s; apply { } }
//# core: functions with optional parameters
extern void f(in bit<8> a, @optional in bit<8> b, @optional out bit<8> c); control c() { bit<8> x; apply { f(1); f(1, 2); f(1, 2, x); f(a = 1, c = x); } }
//# core: a default before others
extern void f(in bit<8> a = 1, in bit<8> b); control c() { apply { f(b = 2); f(1, 2); } }
//# core: a function with a default
void f(in bit<8> x = 1) { } control c() { apply { f(); f(2); f(x = 3); } }
//# core: a control's default parameter
control c(in bit<8> y = 5)(bit<8> z = 6) { apply { } } control d() { c() i; c(7) j; apply { i.apply(); j.apply(8); i.apply(y = 9); } }
//# core: types of the language in odd places
control c(in error e, in tuple<bit<8>> t, in bit<0> z) { apply { bool b = e == error.NoError; bit<8> x = t[0]; } }
//# core: a header of a tuple of headers
header H { bit<8> a; } struct S { tuple<H, H> t; } control c(inout S s) { apply { bit<8> x = s.t[0].a; bool v = s.t[1].isValid(); } }
//# core: enumerations as widths and indices
enum bit<8> W { A = 8, B = 1 } header H { bit<8> a; } control c(inout H[3] s) { bit<(W.A)> x = 1; apply { s[W.B].a = x[W.B:W.B] ++ 7w0; } }
