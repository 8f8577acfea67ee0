//# core: two packages of one name
control C1(in bit<8> x); package top(C1 a); package top(C1 a, C1 b); control c(in bit<8> x) { apply { } } top(c(), c()) main;
//# core: two packages of one name, the first
control C1(in bit<8> x); package top(C1 a); package top(C1 a, C1 b); control c(in bit<8> x) { apply { } } top(c()) main;
//# core: generic packages of one name
control C1<T>(in T x); package top<T>(C1<T> a); package top<T>(C1<T> a, C1<T> b); control c(in bit<8> x) { apply { } } top(c(), c()) main; top<_>(c()) other;
//# core: index of a list
const bit<1> a = {1w1, 1w0}[1]; const int b = {1w1, 1w1}[0]; const tuple<bit, bit> c = {1w1, 1w1}; const bit<1> d = c[0];
//# core: a field of a constant
struct S { bit<8> x; bit<16> y; } const S s = { 1, 2 }; const bit<16> z = s.y; const bit<(s.x + 7)> w = 1;
//# core: int casts
const int a = (int)8w5; const int b = (int)8s5; const bit<8> c = (bit<8>)(int)16w300; const int d = (int)5; const bit<4> e = (bit<4>)20; const int<4> f = (int<4>)-9;
//# core: nested actions and shadowing
const bit<8> x = 1; action a(in bit<8> x) { bit<8> y = x; { bit<8> x = 2; y = x; } }
control c(in bit<8> x) { bit<8> y = x; action a(bit<8> y) { bit<8> z = y; } apply { bit<8> x = y; { bit<8> x = 3; y = x; } a(y); } }
//# core: redeclaration of a parameter in the body
action a(in bit<8> x) { bit<8> x = 1; }
//# core: local named as a parameter
control c(in bit<8> x) { bit<8> x = 1; apply { } }
//# core: package in a package and its fields
control C1(); package A(C1 c); package B(A a, @optional A b); control c() { apply { } } A(c()) x; B(x) main;
//# core: extern instances as constructor parameters
extern X { X(); void go(); } control c()(X x) { apply { x.go(); } } X() g; control d() { c(g) i; X() l; c(l) j; c(X()) k; apply { i.apply(); j.apply(); k.apply(); } }
//# core: extern instances as parameters
extern X { X(); void go(); } control c(X x) { apply { x.go(); } } control d() { c() i; X() l; apply { i.apply(l); } }
//# core: extern object to an in
extern X { X(); } extern void f(X x); void g(X x) { f(x); } control d() { X() l; apply { f(l); g(l); } }
//# core: int parameters
void f(in bit<8> x, int k) { bit<8> y = x + k; } control c(in bit<8> x) { apply { f(x, 5); f(x, 1 + 2); } }
//# core: string parameters
extern void log(string s); void f(string s) { log(s); } control c()(string s) { apply { log(s); f("x"); } }
//# core: struct parameters of constructors
struct S { bit<8> x; } control c()(S s) { apply { bit<8> y = s.x; } } control d() { c({5}) i; c({x = 6}) j; c((S){7}) k; apply { i.apply(); j.apply(); k.apply(); } }
//# core: table size from a constructor parameter
control c()(bit<32> n) { table t { key = { n : exact @name("k"); } actions = { NoAction; } size = n; } apply { t.apply(); } }
//# core: annotations unknown in forms
@my("x", 1, {2, 3}) @other[a=1] @third[1, "x"] @pragma foo bar
const bit<8> x = 1;
//# core: id annotation
control c() { @id(5) action a() { } @id(0x1000_0005) action b() { } apply { } }
//# core: calling a result as a statement
extern bit<8> v(); bit<8> w() { return 1; } control d() { apply { v(); w(); } }
