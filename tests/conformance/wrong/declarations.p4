//# top: the same name for two constants
const bit<8> k = 1;
const bit<8> k = 2; //! DUPLICATE
//# top: the same name for a struct and a header
struct a_t { bit<8> a; }
header a_t { bit<8> a; } //! DUPLICATE
//# top: the same name for a typedef and a constant
typedef bit<8> a_t;
const bit<8> a_t = 1; //! DUPLICATE
//# top: the same name for two enums
enum E { A }
enum E { B } //! DUPLICATE
//# top: the same member twice
enum E { A, B, A } //! DUPLICATE
//# top: the same serializable member twice
enum bit<8> E { A = 1, A = 2 } //! DUPLICATE
//# top: the same error twice
error { X, X } //! DUPLICATE
//# core: an error of core.p4 again
error { NoError } //! DUPLICATE
//# core: a match kind of core.p4 again
match_kind { exact } //! DUPLICATE
//# top: two functions of one name and shape
bit<8> f(in bit<8> x) { return x; }
bit<8> f(in bit<8> x) { return 1; } //! DUPLICATE
//# top: two actions of one name
action a() { }
action a() { } //! DUPLICATE
//# top: the same parameter twice
action a(bit<8> x, bit<8> x) { } //! DUPLICATE
//# top: the same parameter of a function twice
bit<8> f(in bit<8> x, in bit<8> x) { return x; } //! DUPLICATE
//# top: the same parameter of a control twice
control C(in bit<8> x, in bit<8> x) { apply { } } //! DUPLICATE
//# top: two different controls of one name
control C(in bit<8> x) { apply { } }
control C(in bit<16> x) { apply { } } //! DUPLICATE
//# top: two different externs of one name
extern X { X(); }
extern X { X(bit<8> a); } //! DUPLICATE
//# control: the same variable twice
bit<8> x;
bit<16> x; //! DUPLICATE
//# control: a variable and an action of one name
bit<8> x;
action x() { } //! DUPLICATE
//# control: a table and an action of one name
action x() { }
table x { actions = { NoAction; } } //! DUPLICATE
//# control: two tables of one name
table x { actions = { NoAction; } }
table x { actions = { NoAction; } } //! DUPLICATE
//# apply: the same local twice
bit<8> x = 1;
bit<8> x = 2; //! DUPLICATE
//# parser: the same state twice
state start { transition s; }
state s { transition accept; }
state s { transition accept; } //! DUPLICATE
//# parser: a state called accept
state start { transition accept; }
state accept { transition reject; } //! DUPLICATE
//# parser: a state called reject
state start { transition accept; }
state reject { transition accept; } //! DUPLICATE
//# top: a constant before its declaration
const bit<8> a = b; //! NAME
const bit<8> b = 1;
//# top: a function before its declaration
bit<8> f() { return g(); } //! NAME
bit<8> g() { return 1; }
//# top: a function that calls itself
bit<8> f(in bit<8> x) { return f(x); } //! NAME
//# top: an action that calls itself
action a() { a(); } //! NAME
//# control: an action before its declaration
action a() { b(); } //! NAME
action b() { }
//# control: a table before its declaration
action a() { }
table t { actions = { b; } } //! NAME
action b() { }
//# control: a variable before its declaration
action a() { x = 1; } //! NAME
bit<8> x;
//# apply: a local before its declaration
m.m8 = x; //! NAME
bit<8> x = 1;
//# apply: a local used outside of its block
{ bit<8> x = 1; }
m.m8 = x; //! NAME
//# apply: a local used outside of its branch
if (m.f) { bit<8> x = 1; }
m.m8 = x; //! NAME
//# control: a control that applies itself
C() inner; //! NAME
//# parser: a parser that applies itself
P() inner; //! NAME
state start { transition accept; }
//# top: a control before its declaration
control A() { B() b; apply { b.apply(); } } //! NAME
control B() { apply { } }
//# top: an unknown type
const nothing_t k = 1; //! NAME
//# top: an unknown type of a parameter
control C(in nothing_t x) { apply { } } //! NAME
//# top: an unknown type of a field
struct s_t { nothing_t x; } //! NAME
//# top: an unknown type of an instance
nothing_t() x; //! NAME
//# top: a variable at the top level
bit<8> x; //! PLACE
//# top: a variable with a value at the top level
bit<8> x = 1; //! PLACE
//# top: a statement at the top level
const bit<8> k = 1;
k = 2; //! SYNTAX
//# top: a constant without a value
const bit<8> k; //! SYNTAX
//# top: a constant of the wrong type
const bit<8> k = true; //! TYPE
//# top: a constant of a string type with a number
const string k = 1; //! TYPE
//# top: a constant of void
const void k = 1; //! TYPE
//# top: a type of a struct
struct s_t { bit<8> a; }
type s_t n_t; //! TYPE
//# top: a type of a header
header h_t { bit<8> a; }
type h_t n_t; //! TYPE
//# top: a type of an enum
enum E { A }
type E n_t; //! TYPE
//# top: a type of a string
type string n_t; //! TYPE
//# top: a type of an error
type error n_t; //! TYPE
//# top: a type of a tuple
type tuple<bit<8>> n_t; //! TYPE
//# top: an enum of a struct
struct s_t { bit<8> a; }
enum s_t E { A = 1 } //! TYPE
//# top: an enum of bool
enum bool E { A = true } //! TYPE
//# top: an enum of int without width
enum int E { A = 1 } //! TYPE
//# top: an enum of varbit
enum varbit<8> E { A = 1 } //! TYPE
//# top: a member without a value
enum bit<8> E { A = 1, B } //! SYNTAX
//# top: a member with a value but no representation
enum E { A = 1 } //! SYNTAX
//# top: a member's value of the wrong type
enum bit<8> E { A = true } //! TYPE
//# top: an empty enum
enum E { } //! SYNTAX
//# top: a width of zero for int
const int<0> k = 0; //! CONSTANT
//# top: a negative width
const bit<(-1)> k = 0; //! CONSTANT
//# top: a width that is not a number
const bit<(true)> k = 0; //! TYPE
//# top: a width that is too large
const bit<100000> k = 0; //! CONSTANT
//# top: a width that is an unknown name
const bit<(n)> k = 0; //! NAME
//# top: a width of varbit left out
header h_t { varbit a; } //! SYNTAX
//# top: a main that is not a package
control C() { apply { } }
C() main; //! PLACE
//# top: an instance of a control at the top level
control C() { apply { } }
C() c; //! PLACE
//# top: an instance of a parser at the top level
parser P() { state start { transition accept; } }
P() p; //! PLACE
//# top: an instance of a struct
struct s_t { bit<8> a; }
s_t() s; //! TYPE
//# top: an instance of a type of control
control C();
C() c; //! TYPE
//# top: an instance of bit<8>
bit<8>() x; //! TYPE
//# top: a package that lacks an argument
control C();
package S(C c);
S() main; //! TYPE
//# top: a package with too many arguments
control C();
package S(C c);
control A() { apply { } }
S(A(), A()) main; //! TYPE
//# top: a package's control of another shape
control C(in bit<8> x);
package S(C c);
control A(in bit<16> x) { apply { } }
S(A()) main; //! TYPE
//# top: a package's control with another direction
control C(in bit<8> x);
package S(C c);
control A(inout bit<8> x) { apply { } }
S(A()) main; //! TYPE
//# top: a package's control with too few parameters
control C(in bit<8> x);
package S(C c);
control A() { apply { } }
S(A()) main; //! TYPE
//# top: a parser where a control is wanted
control C();
package S(C c);
parser A() { state start { transition accept; } }
S(A()) main; //! TYPE
//# top: a number where a control is wanted
control C();
package S(C c);
S(1) main; //! TYPE
//# top: a package with directions
control C();
package S(in C c); //! DIRECTION
//# top: a package's number with a direction
package S<H>(H h, in bit<8> x); //! DIRECTION
//# top: a control for a control's parameter, not its constructor's
control T(inout bit<8> x);
control C(inout bit<8> x, T t) { apply { t.apply(x); } } //! TYPE
//# top: a control for a function and an extern's method and constructor
control T(inout bit<8> x);
void f(T t) { } //! TYPE
extern X {
    X(T t); //! TYPE
}
extern Y {
    void go(T t); //! TYPE
}
//# top: one error does not hide the next
const bit<8> a = true; //! TYPE
const bit<8> b = c; //! NAME
struct s_t { string x; } //! TYPE
