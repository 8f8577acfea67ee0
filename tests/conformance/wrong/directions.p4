//# top: a write to an in parameter
void f(in bit<8> x) {
    x = 1; //! DIRECTION
}
//# top: a write to a field of an in parameter
struct s_t { bit<8> a; }
control C(in s_t s) {
    apply {
        s.a = 1; //! DIRECTION
    }
}
//# top: a write to a slice of an in parameter
control C(in bit<8> x) {
    apply {
        x[3:0] = 4w1; //! DIRECTION
    }
}
//# top: setValid on an in parameter
header h_t { bit<8> a; }
control C(in h_t h) {
    apply {
        h.setValid(); //! DIRECTION
    }
}
//# top: push_front on an in parameter
header h_t { bit<8> a; }
control C(in h_t[4] h) {
    apply {
        h.push_front(1); //! DIRECTION
    }
}
//# top: a write to an action's data
control C(inout bit<8> y) {
    action a(bit<8> x) {
        x = 1; //! DIRECTION
    }
    apply { }
}
//# top: a write to a constructor's parameter
control C()(bit<8> k) {
    apply {
        k = 1; //! DIRECTION
    }
}
//# top: a number for an out parameter
void f(out bit<8> x) { x = 1; }
control C() {
    apply {
        f(1); //! DIRECTION
    }
}
//# top: a sum for an inout parameter
void f(inout bit<8> x) { x = 1; }
control C(inout bit<8> y) {
    apply {
        f(y + 1); //! DIRECTION
    }
}
//# top: a constant for an out parameter
const bit<8> k = 1;
void f(out bit<8> x) { x = 1; }
control C() {
    apply {
        f(k); //! DIRECTION
    }
}
//# top: an in parameter for an out parameter
void f(out bit<8> x) { x = 1; }
control C(in bit<8> y) {
    apply {
        f(y); //! DIRECTION
    }
}
//# top: an out parameter of another width
void f(out bit<8> x) { x = 1; }
control C(inout bit<16> y) {
    apply {
        f(y); //! TYPE
    }
}
//# top: an inout parameter of another sign
void f(inout bit<8> x) { x = 1; }
control C(inout int<8> y) {
    apply {
        f(y); //! TYPE
    }
}
//# top: a cast for an inout parameter
void f(inout bit<8> x) { x = 1; }
control C(inout int<8> y) {
    apply {
        f((bit<8>)y); //! DIRECTION
    }
}
//# top: nothing for an in parameter
void f(in bit<8> x) { }
control C() {
    apply {
        f(_); //! DIRECTION
    }
}
//# top: nothing for an inout parameter
void f(inout bit<8> x) { }
control C() {
    apply {
        f(_); //! DIRECTION
    }
}
//# top: a string with a direction
extern void f(in string s); //! DIRECTION
//# top: an extern with a direction
extern X { X(); }
control C(inout X x) { apply { } } //! DIRECTION
//# core: a packet with a direction
control C(inout packet_out p) { apply { } } //! DIRECTION
//# core: a packet_in with a direction
parser P(in packet_in p) { state start { transition accept; } } //! DIRECTION
//# top: an int without width that is written
void f(out int x) { x = 1; } //! DIRECTION
//# top: an inout int without width
void f(inout int x) { } //! DIRECTION
//# top: a constructor's parameter with a direction
control C()(in bit<8> k) { apply { } } //! DIRECTION
//# top: an extern's constructor with a direction
extern X { X(in bit<8> a); } //! DIRECTION
//# top: a default value of an out parameter
void f(out bit<8> x = 1) { x = 1; } //! DIRECTION
//# top: a default value of an inout parameter
extern void f(inout bit<8> x = 1); //! DIRECTION
//# top: a default value of another type
void f(in bit<8> x = true) { } //! TYPE
//# control: data before a parameter with a direction
action a(bit<8> x, inout bit<8> y) { } //! DIRECTION
//# control: data for a directed parameter in an action's call
action a(out bit<8> x) { x = 1; }
apply {
    a(1); //! DIRECTION
}
//# control: a directed parameter left open in the list
action a(inout bit<8> x) { }
table t {
    actions = { a; } //! TYPE
}
//# control: a number for an inout parameter in the list
action a(inout bit<8> x) { }
table t {
    actions = { a(1); } //! DIRECTION
}
//# control: data given in the list
action a(bit<8> x) { }
table t {
    actions = { a(1); } //! TYPE
}
//# top: a control's argument that is not an l-value
control A(inout bit<8> x) { apply { } }
control C() {
    A() a;
    apply {
        a.apply(1); //! DIRECTION
    }
}
//# top: a parameter of void
void f(in void x) { } //! TYPE
//# top: a parameter of match_kind
extern void f(in match_kind x); //! TYPE
//# top: a direction on a type
const in bit<8> k = 1; //! SYNTAX
//# apply: a choice between l-values is none, whatever is known when
(true ? m.m8 : m.g.a) = 1; //! DIRECTION
(m.f ? m.m8 : m.g.a) = 1; //! DIRECTION
(true ? m.g : m.g).a = 1; //! DIRECTION
(true ? m.g : m.g).setValid(); //! DIRECTION
//# apply: what an operator or a cast gives is not an l-value
(+m.m8) = 1; //! DIRECTION
((bit<8>)m.m8)[3:0] = 1; //! DIRECTION
(m.m8 + 0) = 1; //! DIRECTION
