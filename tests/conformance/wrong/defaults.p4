//# core: extern constructors with too few
extern X { X(bit<8> a, bit<8> b = 2); } control c() {
X() p; //! TYPE
X(b = 1) q; //! TYPE
X(1, 2, 3) r; //! TYPE
apply { } }
//# core: an action with an optional parameter
action a(@optional in bit<8> x) { } //! TYPE
//# core: an out parameter with a default
void f(out bit<8> x = 1) { } //! DIRECTION
//# core: optional and default
extern void f(@optional in bit<8> x = 1); //! TYPE
//# core: a default that is not known
control c(in bit<8> y) { apply { } } const bit<8> k = 3; void f(in bit<8> x = k + 1) { } extern bit<8> g();
void h(in bit<8> x = g()) { } //! CONSTANT
//# core: a list of types
struct S { tuple<bit<8>, void> t; } //! TYPE
//# core: writing in a tuple that is an in parameter
header H { bit<8> a; } struct S { tuple<H, H> t; } control c(in S s) { apply {
s.t[0].a = 1; //! DIRECTION
s.t[0].setValid(); //! DIRECTION
} }
//# core: booleans and numbers do not mix
control c(inout bit<1> x, inout bool b) { apply {
b = x; //! TYPE
x = b; //! TYPE
b = (bool)x; x = (bit<1>)b;
if (x == true) { } //! TYPE
b = b & b; //! TYPE
b = x && b; //! TYPE
b = 1; //! TYPE
} }
//# core: comparing what cannot be
extern X { X(); } control d() { apply { } } control c() { X() x; X() y; d() e; action a() { } table t { actions = { a; } } bool b; apply {
b = x == y; //! TYPE
b = e == e; //! TYPE
b = a == a; //! TYPE
b = t == t; //! TYPE
b = "x" == "x"; //! TYPE
} }
