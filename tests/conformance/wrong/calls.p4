//# top: too few arguments
bit<8> f(in bit<8> x, in bit<8> y) { return x; }
const bool b = true;
control C(inout bit<8> z) {
    apply {
        z = f(z); //! TYPE
    }
}
//# top: too many arguments
bit<8> f(in bit<8> x) { return x; }
control C(inout bit<8> z) {
    apply {
        z = f(z, z); //! TYPE
    }
}
//# top: an argument of the wrong type
bit<8> f(in bit<8> x) { return x; }
control C(inout bit<8> z) {
    apply {
        z = f(true); //! TYPE
    }
}
//# top: an argument by an unknown name
bit<8> f(in bit<8> x) { return x; }
control C(inout bit<8> z) {
    apply {
        z = f(y = z); //! NAME
    }
}
//# top: an argument twice by name
bit<8> f(in bit<8> x) { return x; }
control C(inout bit<8> z) {
    apply {
        z = f(x = z, x = z); //! DUPLICATE
    }
}
//# top: named and unnamed arguments mixed
bit<8> f(in bit<8> x, in bit<8> y) { return x; }
control C(inout bit<8> z) {
    apply {
        z = f(x = z, z); //! TYPE
    }
}
//# top: the value of a function of void
void f() { }
control C(inout bit<8> z) {
    apply {
        z = f(); //! TYPE
    }
}
//# top: a function that is not called
bit<8> f() { return 1; }
control C(inout bit<8> z) {
    apply {
        z = f; //! TYPE
    }
}
//# top: type arguments for a plain function
bit<8> f(in bit<8> x) { return x; }
control C(inout bit<8> z) {
    apply {
        z = f<bit<8>>(z); //! SYNTAX
    }
}
//# top: too many type arguments
T f<T>(in T x) { return x; }
control C(inout bit<8> z) {
    apply {
        z = f<bit<8>, bit<8>>(z); //! TYPE
    }
}
//# top: a type argument that does not fit
T f<T>(in T x) { return x; }
control C(inout bit<8> z) {
    apply {
        z = f<bool>(z); //! TYPE
    }
}
//# top: two types for one parameter
T f<T>(in T x, in T y) { return x; }
control C(inout bit<8> z) {
    apply {
        z = f(z, true); //! TYPE
    }
}
//# top: a type parameter that nothing infers
extern T f<T>();
control C(inout bit<8> z) {
    apply {
        f(); //! TYPE
    }
}
//# top: a result of another type
T f<T>(in T x) { return x; }
control C(inout bit<8> z, in bit<16> w) {
    apply {
        z = f(w); //! TYPE
    }
}
//# top: an unknown method
extern X { X(); void go(); }
control C() {
    X() x;
    apply {
        x.run(); //! NAME
    }
}
//# top: a method with the wrong count of arguments
extern X { X(); void go(in bit<8> a); }
control C() {
    X() x;
    apply {
        x.go(); //! TYPE
    }
}
//# top: a method with an argument of the wrong type
extern X { X(); void go(in bit<8> a); }
control C() {
    X() x;
    apply {
        x.go(true); //! TYPE
    }
}
//# top: a method of a type
extern X { X(); void go(); }
control C() {
    apply {
        X.go(); //! TYPE
    }
}
//# top: a constructor without its argument
extern X { X(bit<8> a); }
control C() {
    X() x; //! TYPE
    apply { }
}
//# top: a constructor's argument of the wrong type
extern X { X(bit<8> a); }
control C() {
    X(true) x; //! TYPE
    apply { }
}
//# top: an extern without a constructor
extern X { void go(); }
control C() {
    X() x; //! TYPE
    apply { }
}
//# top: a generic extern without its argument
extern X<T> { X(); void go(in T a); }
control C() {
    X() x; //! TYPE
    apply { }
}
//# top: a generic extern with too many arguments
extern X<T> { X(); void go(in T a); }
control C() {
    X<bit<8>, bool>() x; //! TYPE
    apply { }
}
//# top: a plain extern with an argument
extern X { X(); }
control C() {
    X<bit<8>>() x; //! TYPE
    apply { }
}
//# top: a generic extern's method of another type
extern X<T> { X(); void go(in T a); }
control C(in bool b) {
    X<bit<8>>() x;
    apply {
        x.go(b); //! TYPE
    }
}
//# top: an extern that is assigned
extern X { X(); }
control C() {
    X() x;
    X() y;
    apply {
        x = y; //! TYPE
    }
}
//# top: externs that are compared
extern X { X(); }
control C(out bool b) {
    X() x;
    X() y;
    apply {
        b = x == y; //! TYPE
    }
}
//# top: two constructors of one shape
extern X { X(bit<8> a); X(bit<8> a); } //! DUPLICATE
//# top: two methods of one shape
extern X { X(); void f(in bit<8> a); void f(in bit<8> a); } //! DUPLICATE
//# top: a method of the extern's name with a result
extern X { bit<8> X(); } //! TYPE
//# top: a constructor of another name
extern X { Y(); } //! SYNTAX
//# top: abstract methods left open
extern X { X(); abstract bit<8> f(in bit<8> a); }
control C() {
    X() x; //! TYPE
    apply { }
}
//# top: an object initialiser that lacks a method
extern X { X(); abstract bit<8> f(in bit<8> a); }
control C() {
    X() x = { }; //! TYPE
    apply { }
}
//# top: an abstract method of another shape
extern X { X(); abstract bit<8> f(in bit<8> a); }
control C() {
    X() x = {
        bit<8> f(in bit<16> a) { return 1; } //! TYPE
    };
    apply { }
}
//# top: a body for an extern's method
extern X { X(); bit<8> f() { return 1; } } //! SYNTAX
//# top: an instance in an extern
extern X { X() x; } //! SYNTAX
//# top: an extern function with a body's assignment
extern bit<8> f() = 3; //! SYNTAX
//# top: an action called with too many arguments
control C(inout bit<8> z) {
    action a(inout bit<8> x) { x = 1; }
    apply {
        a(z, z); //! TYPE
    }
}
//# top: an action called without its data
control C(inout bit<8> z) {
    action a(bit<8> x) { z = x; }
    apply {
        a(); //! TYPE
    }
}
//# top: the value of an action
control C(inout bit<8> z) {
    action a() { z = 1; }
    apply {
        z = a(); //! TYPE
    }
}
//# top: an action as a value
control C(inout bit<8> z) {
    action a() { z = 1; }
    apply {
        z = a; //! TYPE
    }
}
//# top: a control without its arguments
control A(in bit<8> x) { apply { } }
control C() {
    A() a;
    apply {
        a.apply(); //! TYPE
    }
}
//# top: a control with an argument of another type
control A(in bit<8> x) { apply { } }
control C() {
    A() a;
    apply {
        a.apply(true); //! TYPE
    }
}
//# top: a control that is called
control A() { apply { } }
control C() {
    A() a;
    apply {
        a(); //! TYPE
    }
}
//# top: a control's type that is applied without parameters of its constructor
control A()(bit<8> k) { apply { } }
control C() {
    apply {
        A.apply(); //! TYPE
    }
}
//# top: a control that is applied in a parser
control A() { apply { } }
parser P() {
    A() a; //! PLACE
    state start { transition accept; }
}
//# top: a parser that is applied in a control
parser A() { state start { transition accept; } }
control C() {
    A() a; //! PLACE
    apply { }
}
//# top: an instance of a control in a function
control A() { apply { } }
void f() {
    A() a; //! PLACE
}
//# top: a table in a parser
parser P() {
    table t { actions = { } } //! PLACE
    state start { transition accept; }
}
//# top: an action in a parser
parser P() {
    action a() { } //! PLACE
    state start { transition accept; }
}
//# top: a state in a control
control C() {
    state start { transition accept; } //! SYNTAX
    apply { }
}
//# top: a function in a control
control C() {
    bit<8> f() { return 1; } //! SYNTAX
    apply { }
}
//# top: a control without apply
control C() { } //! SYNTAX
//# top: a control with two apply blocks
control C() {
    apply { }
    apply { } //! SYNTAX
}
//# top: a declaration behind apply
control C() {
    apply { }
    action a() { } //! SYNTAX
}
//# top: a struct in a control
control C() {
    struct s_t { bit<8> a; } //! SYNTAX
    apply { }
}
//# top: extract from a number
control C(inout bit<8> z) {
    apply {
        z.extract(z); //! NAME
    }
}
//# core: extract of a number
parser P(packet_in p, out bit<8> z) {
    state start {
        p.extract(z); //! TYPE
        transition accept;
    }
}
//# core: extract of a struct
struct s_t { bit<8> a; }
parser P(packet_in p, out s_t z) {
    state start {
        p.extract(z); //! TYPE
        transition accept;
    }
}
//# core: extract of an in parameter
header h_t { bit<8> a; }
parser P(packet_in p, in h_t z) {
    state start {
        p.extract(z); //! DIRECTION
        transition accept;
    }
}
//# core: extract with a width into a header of fixed width
header h_t { bit<8> a; }
parser P(packet_in p, out h_t z) {
    state start {
        p.extract(z, 8); //! TYPE
        transition accept;
    }
}
//# core: lookahead without a type
parser P(packet_in p, out bit<8> z) {
    state start {
        z = p.lookahead(); //! TYPE
        transition accept;
    }
}
//# core: lookahead of another width
parser P(packet_in p, out bit<8> z) {
    state start {
        z = p.lookahead<bit<16>>(); //! TYPE
        transition accept;
    }
}
//# core: advance by a bool
parser P(packet_in p) {
    state start {
        p.advance(true); //! TYPE
        transition accept;
    }
}
//# core: verify of a number
parser P(packet_in p) {
    state start {
        verify(1, error.NoError); //! TYPE
        transition accept;
    }
}
//# core: verify without an error
parser P(packet_in p) {
    state start {
        verify(true, 1); //! TYPE
        transition accept;
    }
}
//# core: verify in a control
control C() {
    apply {
        verify(true, error.NoError); //! PLACE
    }
}
//# core: emit of a number
control D(packet_out p, in bit<8> z) {
    apply {
        p.emit(z); //! TYPE
    }
}
//# core: emit of a bool in a tuple
control D(packet_out p, in tuple<bool> z) {
    apply {
        p.emit(z); //! TYPE
    }
}
//# core: extract on a packet_out
header h_t { bit<8> a; }
control D(packet_out p, inout h_t z) {
    apply {
        p.extract(z); //! NAME
    }
}
//# core: an instance of packet_in
control C() {
    packet_in() p; //! TYPE
    apply { }
}
//# core: an instance without a name, applied
control Add(inout bit<8> x)(bit<8> n) { apply { x = x + n; } }
control C(inout bit<8> x) {
    apply {
        Add(9).apply(x); //! TYPE
    }
}
//# core: a generic control applied directly, without type arguments
control swap<T>(inout T a, inout T b) { apply { T t = a; a = b; b = t; } }
control c(inout bit<8> x, inout bit<8> y) { apply {
swap.apply(x, y); //! TYPE
swap<_>.apply(x, y); //! TYPE
swap<bit<8>>.apply(x, y); } }
//# core: type arguments of a constructor call that its arguments contradict, or too few
control G<T>(inout T x);
package Pair<T, U>(G<T> a, G<U> b);
control c(inout bit<8> x) { apply { } }
Pair<bit<16>, _>(c(), c()) one; //! TYPE
Pair<_>(c(), c()) two; //! TYPE
Pair<_, bit<8>>(c(), c()) three;
//# core: a type argument that nothing tells
struct G<T> { T t; }
struct S { G<_> g; } //! TYPE
control h(out G<bit<8>> g) { apply { G<_> other = g; } } //! TYPE
