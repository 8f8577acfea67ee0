//# control: a missing brace is one error
action a() { m.m8 = 1;
action b() { m.m8 = 2; } //! SYNTAX
table t1 { actions = { a; b; } }
apply { t1.apply(); }
}
//# core: a brace too many
control c1() { bit<8> x; apply { x = 1; } } } //! SYNTAX
control c2() { apply { } }
action a() { }
control c3() { apply { bit<8> y = 1; y = ; } } //! SYNTAX
//# core: statements behind a brace too many
control c1() {
    bit<8> x;
    apply { if (x == 1) { x = 2; } }
    x = 3; //! SYNTAX
    x = 4;
}
} //! SYNTAX
//# core: an undeclared type is told once
control c1(in foo_t x) { apply { } } //! NAME
control c2(in foo_t x) { apply { } }
control c3(in bar_t x) { apply { foo_t y; } } //! NAME
//# core: a struct that is wrong is still a type
struct s_t { bit<8> x; foo_t y; } //! NAME
control c1(in s_t x) { apply { } }
//# control: a wrong branch and its else
apply {
    if (m.m8 == ) m.m8 = 1; //! SYNTAX
    else if (m.f) { m.m8 = 2; }
    else { m.m8 = 3; }
    m.m8 = 4 +; //! SYNTAX
}
//# control: wrong properties of a table
table t1 {
    key = { m.m8 exact; } //! SYNTAX
    actions = { NoAction; }
    size 5; //! SYNTAX
    default_action = ; //! SYNTAX
}
//# control: a property behind a table
table t1 { actions = { NoAction; } }
size = 5; //! SYNTAX
//# parser: an undeclared type as a type argument
state start { m.m8 = p.lookahead<foo_t>(); transition accept; } //! NAME
//# core: an instance of a type that is wrong
control C<T>(in T x);
package K<T>(C<T> a, C b); //! TYPE
control c(in bit<8> x) { apply { } }
K(c(), c()) main;
//# control: declarations in an apply block
apply {
    action a() { } //! SYNTAX
    table t1 { actions = { a; } }
}
//# core: keywords in the wrong place
control c1() { state start { } apply { } } //! SYNTAX
parser p1() { apply { } } //! SYNTAX
//# apply: annotations before a statement
@x m.m8 = 1; //! SYNTAX
//# top: letters that are not ASCII
const bit<8> é = 1; //! SYNTAX
//# core: names of states and locals
parser p1() {
    bit<8> x;
    value_set<bit<8>>(4) y;
    state start { transition accept; }
    state x { transition accept; } //! DUPLICATE
    state y { transition accept; } //! DUPLICATE
}
//# control: a table's properties in the wrong order
action a() { }
table t1 { default_action = a; actions = { a; } } //! TYPE
table t2 { const entries = { 1: a(); } key = { m.m8: exact; } actions = { a; } } //! TYPE
table t3 { key = { m.m8: exact; } entries = { 1: a(); } actions = { a; } } //! TYPE
//# top: calls that several overloads take
extern Y { Y(); void f(in bit<8> x); void f(in bit<8> y); }
control c1() { Y() y; apply { y.f(x = 1); y.f(y = 1); y.f(1); } } //! DUPLICATE
//# apply: a brace as a switch's label
switch (m.m8) { {1}: { } } //! SYNTAX
