//# core: types must agree
parser Prs<T>(packet_in b, out T result);
control Pipe<T>(in T data);
package Switch<T>(Prs<T> p, Pipe<T> map);
parser P(packet_in b, out bit<32> index) { state start { index = 1; transition accept; } }
control Pipe1(in bit<32> data) { apply { } }
control Pipe2(in bit<8> data) { apply { } }
Switch(P(), Pipe2()) main; //! TYPE
//# core: calling convention defaults, wrong
extern void f(in bit a, in bit<3> b = 2, in bit<5> c);
void g() {
 f(1, 3); //! TYPE
}
//# top: name resolution wrong
const bit<32> x = 2;
control p() { const bit<8> y = .x; //! TYPE
apply {} }
//# core: enum casts wrong
enum bit<8> E1 { e1 = 0, e2 = 1, e3 = 2 } enum bit<8> E2 { e1 = 10, e2 = 11, e3 = 12 }
control c() { apply { E1 a = E1.e1; E2 b = E2.e2;
a = b; //! TYPE
a = E1.e1 + 1; //! TYPE
a = E1.e1 + E1.e2; //! TYPE
bit<8> x = 5;
a = x; //! TYPE
a = 1; //! TYPE
} }
//# core: illegal arithmetic
control c(inout bit<8> x, inout bit<16> y, inout int<8> z) { bit<16> r; int<8> i; bool b; apply {
r = x + y; //! TYPE
x = x + z; //! TYPE
i = (int<8>)y; //! TYPE
r = y + z; //! TYPE
x = x << z; //! TYPE
b = x < z; //! TYPE
x = 1 << x; //! TYPE
b = 5 == 5w5;
x = ~1; //! TYPE
x = 5 & -3;
} }
//# core: union setValid
header H1 { bit<8> f; } header_union U { H1 h1; }
control c() { apply { U u;
u.setValid(); //! NAME
u = { {1} }; //! TYPE
} }
//# core: named arguments wrong
extern void f(in bit<32> x, out bit<16> y);
control c() { apply { bit<32> xa = 0; bit<16> ya;
f(x = xa); //! TYPE
f(x = xa, x = ya); //! DUPLICATE
f(x = xa, ya); //! TYPE
f(z = xa, w = ya); //! NAME
f(x = xa, y = 0); //! DIRECTION
f(_, ya); //! DIRECTION
} }
//# core: new types wrong
type bit<32> U32; type bit<32> V32;
control c() { apply { U32 x = (U32)1; V32 v = (V32)1; bit<32> z = 1;
z = x; //! TYPE
x = z; //! TYPE
x = x + x; //! TYPE
bool b = x == z; //! TYPE
b = x == v; //! TYPE
x = (U32)v; //! TYPE
b = x < x; //! TYPE
bit<16> y = (bit<16>)x; //! TYPE
} }
//# core: default values wrong
struct S { bit<32> b32; bool b; } enum N0 { one } enum N1 { A, B, C, F } struct T { S s; N0 n0; N1 n1; } header H { bit<16> f1; bit<8> f2; }
control c() { apply {
T t2 = { s = ... }; //! TYPE
bit<8> x; x = 1 + ...; //! TYPE
} }
//# core: default values must be last
struct S { bit<32> a; bit<32> b; }
control c() { apply { S t3 = { ..., b = 2}; //! SYNTAX
} }
//# core: sizes wrong
enum F { A } struct X { F f; } extern Y { Y(); }
const int c1 = X.minSizeInBits(); //! TYPE
const int c2 = error.minSizeInBits(); //! TYPE
const int c3 = Y.minSizeInBits(); //! TYPE
void f<T>(in T x) { bit<32> z = x.minSizeInBits(); } //! TYPE
//# core: parser namespace
parser p() { bit<4> t;
 state start { t = 1; transition t; }
 state t { transition accept; } //! DUPLICATE
}
//# core: control in a parser and parser in a control
control C() { apply { } } parser P() { state start { transition accept; } }
parser P2() { C() c; //! PLACE
state start { transition accept; } }
control C2() { P() p; //! PLACE
 apply { } }
//# core: top-level instantiation of a control
control C() { apply { } } parser P() { state start { transition accept; } }
C() c1; //! PLACE
P() p1; //! PLACE
//# core: actions of one name
action a() {}
control c() { action a() {}
 table t { actions = { a;
 .a; } //! DUPLICATE
 default_action = a; } apply { t.apply(); } }
//# core: default action before actions
control c() { action a() { }
 table t { default_action = a; actions = { a; } } //! TYPE
 apply { t.apply(); } }
//# core: default action not in the list
control c() { action a() { } action b() { }
 table t { actions = { a; } default_action = b; } //! NAME
 apply { t.apply(); } }
//# core: direct invocation with constructor parameters
control Callee()(bit<8> x) { apply { } }
control Caller() { apply { Callee.apply(); } } //! TYPE
//# core: exit in function
void f() { exit; } //! PLACE
//# core: varbit operations
header h { varbit<32> a; varbit<32> b; varbit<16> c; }
control c(inout h x) { apply { x.a = x.b; bool e = x.a == x.b;
x.a = x.c; //! TYPE
x.a = x.a + x.b; //! TYPE
e = x.a == x.c; //! TYPE
x.a = 5; //! TYPE
bit<32> y = (bit<32>)x.a; //! TYPE
y = x.a[7:0]; //! TYPE
e = x.a < x.b; //! TYPE
} }
