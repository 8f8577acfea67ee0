//# core: two packages of one name and shape
control C1(in bit<8> x); control C2(in bit<16> x); package top(C1 a);
package top(C2 a); //! DUPLICATE
//# core: select of a value set
parser p(packet_in b) { value_set<bit<16>>(1) vs; state start { transition select(vs) { //! TYPE
 1: accept; } } }
//# core: generic function with a default
t f<t>(in t a = 1w1) { return a; } //! TYPE
//# core: a control as an argument of a function
control C() { apply { } } void f<T>(in T x) { }
control D() { C() c; apply { f(c); //! TYPE
f(C); //! TYPE
} }
//# core: a table as an argument
void f<T>(in T x) { }
control D() { table t { actions = { NoAction; } } apply { f(t); //! TYPE
f(NoAction); //! TYPE
f(t.apply); //! TYPE
f(t.apply()); //! TYPE
} }
//# core: casts of odd things
struct S { bit<8> x; } extern X { X(); } control C() { apply { } } enum E { A }
control D() { X x; bit<8> y; bool b; S s; apply { //! TYPE
y = (bit<8>)s; //! TYPE
s = (S)y; //! TYPE
y = (bit<8>)C; //! TYPE
y = (bit<8>)E; //! TYPE
b = (bool)8w1; //! TYPE
b = (bool)1w1;
b = (bool)0; b = (bool)1;
b = (bool)2; //! TYPE
y = (bit<8>)b; //! TYPE
y = (bit<8>)(bit<1>)b;
y = (bit<8>)"a"; //! TYPE
y = (string)y; //! TYPE
y = (bit<8>)error.NoError; //! TYPE
y = (bit<8>)E.A; //! TYPE
y = (void)y; //! TYPE
} }
//# core: redeclaration of a variable in one scope
control c() { apply { bit<8> x = 1; bit<8> x = 2; } } //! DUPLICATE
//# core: two parameters of a name
control c(in bit<8> x, in bit<8> x) { apply { } } //! DUPLICATE
//# core: use of a variable before its declaration
control c() { apply { bit<8> y = x; //! NAME
 bit<8> x = 1; } }
//# core: use of an action before its declaration
control c() { table t { actions = { a; } } //! NAME
 action a() { } apply { t.apply(); } }
//# core: use of a variable of another control
control d() { bit<8> x = 1; apply { } }
control c() { apply { bit<8> y = x; } } //! NAME
//# core: use of an action of another control
control d() { action a() { } apply { } }
control c() { apply { a(); } } //! NAME
//# core: package passed to a control
control C1(); package A(C1 c); control c() { apply { } } A(c()) x;
control d()(A a) { apply { } } //! TYPE
//# core: parser for a control
parser P1(); control C1(); package A(C1 c); parser p() { state start { transition accept; } }
A(p()) main; //! TYPE
//# core: control with other parameter count
control C1(in bit<8> x); package A(C1 c); control c() { apply { } }
A(c()) main; //! TYPE
//# core: width from a constructor parameter
control c()(bit<8> n) { bit<(n)> x; //! CONSTANT
apply { } }
//# core: abstract methods
extern V { V(); abstract bit<8> f(in bit<8> x); abstract void g(); }
V() v1 = { bit<8> f(in bit<8> x) { return x; } void g() { } };
V() v2 = { bit<8> f(in bit<8> x) { return x; } }; //! TYPE
V() v3; //! TYPE
V() v4 = { bit<8> f(in bit<8> x) { return x; } void g() { } void h() { } }; //! TYPE
V() v5 = { bit<8> f(in bit<16> x) { return 1; } void g() { } }; //! TYPE
//# core: this outside
control c() { apply { this.f(); } } //! PLACE
//# core: annotation form mixed
@other[a=1, 2] const bit<8> x = 1; //! SYNTAX
//# core: annotation with unbalanced parens
@other((a) const bit<8> x = 1; //! SYNTAX
//# core: name annotation forms
@name("a" ++ "b") const bit<8> x = 1;
@name() const bit<8> y = 1; //! SYNTAX
//# core: name annotation with number
@name(5) const bit<8> y = 1; //! SYNTAX
//# core: hidden with arguments
control c() { @hidden(1) action a() { } apply { } } //! SYNTAX
//# core: static_assert
const bool b = static_assert(1 < 2); const bool c = static_assert(true, "x");
const bool d = static_assert(2 < 1, "no"); //! CONSTANT
//# core: an undeclared function
control c() { apply { foo(1); } } //! NAME
//# core: an undeclared type
control c() { foo x; apply { } } //! NAME
//# core: an undeclared extern instantiation
control c() { foo(5) x; apply { } } //! NAME
//# core: void variables and results
extern void v(); control d() { bit<8> x; apply { x = v(); //! TYPE
v();
x = 1 + v(); //! TYPE
} }
//# core: division of int by zero in a dead branch
const bit<8> z = true ? 1 : 5 / 0; //! CONSTANT
//# core: huge shifts
const int a = 1 << 100; const bit<8> b = 8w1 << 1000; const int c = 1 << 100000; //! CONSTANT
//# core: widths
const bit<2048> a = 1; const bit<2049> b = 1; //! CONSTANT
