//# core: generic inference by return only, inferred from the assignment
extern T f<T>();
control c(inout bit<8> x) { apply { x = f(); } } //! TYPE
//# core: generic extern wrong use
extern R<T> { R(T init); T get(); void set(in T v); }
control c(inout bit<16> x) { R<bit<8>>(5) q; apply { q.set(x); //! TYPE
x = q.get(); //! TYPE
} }
//# core: unknown method
extern R { R(); void get(); }
control c() { R() r; apply { r.put(); //! NAME
 r.get(1); //! TYPE
} }
//# core: overloading, no match
extern R { R(); void get(); void get(in bit<8> x); }
control c() { R() r;
 R(1) q; //! TYPE
 apply { r.get(1, 2); //! TYPE
 r.get(y = 1); //! TYPE
} }
//# core: function twice
bit<8> f(in bit<8> a) { return a; }
bit<8> f(in bit<8> a) { return a; } //! DUPLICATE
//# core: directionless parameters of functions
void f(in bit<8> a, bit<8> b) { }
control c(inout bit<8> x, bit<8> y) { apply { f(x, 5); f(x, y);
 f(x, x); //! CONSTANT
} }
//# core: control parameter without direction
control c1(bit<8> y) { apply { } }
control c(inout bit<8> x) { c1() i; apply { i.apply(4);
 i.apply(x); //! CONSTANT
} }
//# core: assignment to in
control c(in bit<8> x, bit<8> y, out bit<8> z, inout bit<8> w) { apply { z = x; w = z;
x = 1; //! DIRECTION
y = 1; //! DIRECTION
} }
//# core: in as out argument
void f(out bit<8> a, inout bit<8> b) { a = b; }
control c(in bit<8> x, inout bit<8> w) { apply { f(w, w);
f(x, w); //! DIRECTION
f(w, x); //! DIRECTION
f(w, 1); //! DIRECTION
f(w + 1, w); //! DIRECTION
f((bit<8>)w, w); //! DIRECTION
} }
//# core: slice bounds
control c(inout bit<8> w, in bit<8> n) { bit<4> y; apply {
y = w[0:3]; //! CONSTANT
y = w[8:5]; //! CONSTANT
y = w[-1:0]; //! CONSTANT
y = w[n:0]; //! CONSTANT
y = w[2:0]; //! TYPE
y = w[true:0]; //! TYPE
} }
//# core: slice of bool, struct
struct S { bit<8> x; }
control c(inout bool w, inout S s) { bit<1> y; apply {
y = w[0:0]; //! TYPE
y = s[0:0]; //! TYPE
} }
//# core: index
header H { bit<8> a; }
control c(inout H[4] s, in int<8> k, in bit<8> n, inout bit<8> z) { apply { z = s[0].a; z = s[n].a; z = s[k].a; s[3] = s[n];
z = s[4].a; //! CONSTANT
z = s[-1].a; //! CONSTANT
z = s[true].a; //! TYPE
z = z[1]; //! TYPE
} }
//# core: next, last in controls
header H { bit<8> a; }
control c(inout H[4] s) { bit<32> n; H h; apply {
h = s.next; //! PLACE
h = s.last; //! PLACE
n = s.lastIndex; //! PLACE
n = s.size;
} }
//# core: push and pop
header H { bit<8> a; }
control c(inout H[4] s, in H[4] r, in bit<8> n) { apply { s.push_front(1); s.pop_front(2);
s.push_front(n); //! CONSTANT
s.push_front(); //! TYPE
s.push_front(-1); //! CONSTANT
r.push_front(1); //! DIRECTION
} }
//# core: bool ops
control c(in bit<8> x, in bool b) { bool r; apply { r = !b && b || (b == b) != true;
r = b + b; //! TYPE
r = b & b; //! TYPE
r = b < b; //! TYPE
r = !x; //! TYPE
r = ~b; //! TYPE
r = -b; //! TYPE
r = x && b; //! TYPE
if (x) { } //! TYPE
r = x; //! TYPE
r = (bool)x; //! TYPE
} }
//# core: mux
control c(in bit<8> x, in bool b) { bit<8> r; apply { r = b ? x : 5; r = b ? 8w1 : 2; r = true ? 1 : 2;
r = b ? 1 : 2; //! TYPE
r = x ? x : x; //! TYPE
r = b ? x : 16w3; //! TYPE
} }
//# core: strings
extern void log(string s);
control c(in bool b) { apply { log("a" ++ "b"); log("a");
log(5); //! TYPE
bool r = "a" == "b"; //! TYPE
log("a" + "b"); //! TYPE
} }
//# core: tuples
control c(inout bit<8> x) { tuple<bit<8>, bool> t = { 1, true }; apply { x = t[0]; bool b = t[1]; t = { x, b }; b = t == { x, b };
t[0] = 1;
x = t[2]; //! CONSTANT
x = t[x]; //! CONSTANT
x = t[1]; //! TYPE
} }
//# core: struct from tuple variable
struct S { bit<8> a; bit<16> b; }
control c(inout tuple<bit<8>, bit<16>> a) { apply { S s; s = { a[0], a[1] };
s = a; //! TYPE
} }
//# core: structs are nominal
struct S { bit<8> a; } struct T { bit<8> a; }
control c(inout S s, inout T t) { apply {
s = t; //! TYPE
bool b = s == t; //! TYPE
} }
//# core: constants
const bit<8> a = 1; const bit<8> b = a + 1;
const bit<8> c1 = d1; //! NAME
const bit<8> e1 = 16w1; //! TYPE
const bool f1 = 1; //! TYPE
control c(in bit<8> x) { const bit<8> y = x; //! CONSTANT
apply { a = 5; //! DIRECTION
} }
//# core: division
control c(in bit<8> x, in int<8> y) { bit<8> r; int<8> s; apply { r = x / 2; r = x % 3; r = x / x;
r = x / 0; //! CONSTANT
s = y / 2; //! TYPE
s = y % 2; //! TYPE
} }
const int q = 5 / 2;
const int r = -5 / 2; //! CONSTANT
const int s = 5 % 0; //! CONSTANT
//# core: shifts
control c(in bit<8> x, in int<8> y) { bit<8> r; int<8> s; apply { r = x << 3; r = x << x; s = y >> 8w1; s = y << 1; r = x >> 100; r = x << 4w2;
r = x << y; //! TYPE
r = x << -1; //! CONSTANT
r = x << 2s1; //! TYPE
r = x << true; //! TYPE
} }
//# core: concatenation
control c(in bit<8> x, in int<8> y) { bit<16> r; int<16> s; apply { r = x ++ x; r = x ++ y; s = y ++ x; r = 8w1 ++ 8w2; r = x[3:0] ++ 4w0 ++ x;
r = x ++ 1; //! TYPE
r = y ++ x; //! TYPE
r = x ++ true; //! TYPE
} }
//# core: saturating
control c(inout bit<8> x, inout int<8> y) { apply { x = x |+| 1; y = y |-| 1; x |+|= 3; x = 8w250 |+| 8w10;
x = 1 |+| 2; //! TYPE
x = x |+| y; //! TYPE
} }
//# core: logical compound
control c(inout bool b) { apply { b &&= b; //! SYNTAX
} }
//# core: recursive function
bit<8> f(in bit<8> x) { return f(x); } //! NAME
//# core: recursive control
control c() { c() i; apply { } } //! NAME
//# core: recursion through direct application
control c() { apply { c.apply(); } } //! NAME
//# core: recursive action
control c() { action a() { a(); } //! NAME
 apply { a(); } }
//# core: function not at top
control c() { void f() { } //! SYNTAX
 apply { } }
//# core: table apply in an action
control c() { table t { actions = { NoAction; } } action a() { t.apply(); } //! PLACE
apply { t.apply(); a(); } }
//# core: table apply in a function
control d() { apply { } }
void f() { d.apply(); } //! PLACE
//# core: control apply in an action
control d() { apply { } }
control c() { d() i; action a() { i.apply(); } //! PLACE
apply { a(); } }
//# core: action call in a function
action a() { }
void f() { a(); } //! PLACE
//# core: action call in a parser
action a() { }
parser p() { state start { a(); transition accept; } } //! PLACE
//# core: instantiate in apply, action, function
extern X { X(); }
control c() { action a() { X() x; //! PLACE
} apply { X() x; //! PLACE
} }
void f() { X() x; } //! PLACE
//# core: missing return
bit<8> f(in bit<8> x) { if (x == 1) { return 1; } } //! TYPE
//# core: returns
bit<8> f(in bit<8> x) { if (x == 1) { return 1; } else { return 2; } }
void g() { return; } void h(in bool b) { if (b) return; }
bit<8> k(in bit<8> x) { return; } //! TYPE
void l() { return 1; } //! TYPE
bit<8> m() { return true; } //! TYPE
control c() { action a() { return; } apply { return; } }
control d() { apply { return 1; } } //! TYPE
//# core: call a variable
control c(in bit<8> x) { apply { x(); } } //! TYPE
//# core: extern method as a value
extern X { X(); bit<8> f(); }
control c() { X() x; bit<8> y; apply { y = x.f; } } //! TYPE
//# core: assignment to a call
extern X { X(); bit<8> f(); }
control c() { X() x; apply { x.f() = 1; } } //! DIRECTION
//# core: assign extern
extern X { X(); }
control c() { X() x; X() y; apply { x = y; } } //! TYPE
//# core: assign tables, actions
control c() { action a() { } table t { actions = { a; } } bit<8> x; apply { x = t; //! TYPE
x = a; //! TYPE
t = t; //! TYPE
a = a; //! TYPE
} }
//# core: use a type as a value
struct S { bit<8> x; }
control c() { bit<8> x; apply { x = S; } } //! TYPE
//# core: expression statement
control c() { bit<8> x; apply { x; } } //! SYNTAX
//# core: comparison chain
control c(in bit<8> x) { bool b; apply { b = x < x == true; b = x & 1 == 1; b = x == 1 && x == 2 || x > 3;
b = x < x < x; //! TYPE
} }
