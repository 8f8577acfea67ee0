//# apply: a number on the left
8w1 = m.m8; //! DIRECTION
//# apply: a sum on the left
m.m8 + 1 = m.m8; //! SYNTAX
//# apply: a constant on the left
const bit<8> k = 1;
k = m.m8; //! DIRECTION
//# apply: a call on the left
m.h.isValid() = true; //! DIRECTION
//# apply: an enum's member on the left
E.A = E.B; //! DIRECTION
//# apply: a concatenation's slice on the left
(m.m8 ++ m.m8)[3:0] = 4w1; //! DIRECTION
//# apply: a cast on the left
((bit<8>)m.m16) = 8w1; //! DIRECTION
//# apply: a type on the left
h_t = m.h; //! SYNTAX
//# apply: an expression as a statement
m.m8; //! SYNTAX
//# apply: a comparison as a statement
m.m8 == 1; //! SYNTAX
//# apply: two operators of assignment
m.m8 = m.m16 = 1; //! SYNTAX
//# apply: an operator of assignment on a bool
m.f += 1; //! TYPE
//# apply: an operator of assignment with an unlike width
m.m8 += m.m16; //! TYPE
//# apply: an operator of assignment on a constant
const bit<8> k = 1;
k += 1; //! DIRECTION
//# apply: an assignment in a condition
if (m.m8 = 1) { } //! SYNTAX
//# apply: return with a value in apply
return m.m8; //! TYPE
//# apply: break outside of a loop
break; //! PLACE
//# apply: continue outside of a loop
continue; //! PLACE
//# apply: else without if
else { } //! SYNTAX
//# apply: a semicolon left out
m.m8 = 1
m.m8 = 2; //! SYNTAX
//# apply: a bracket left out
if (m.f { m.m8 = 1; } //! SYNTAX
//# apply: a condition without brackets
if m.f { m.m8 = 1; } //! SYNTAX
//# apply: a value left out
m.m8 = ; //! SYNTAX
//# apply: an operand left out
m.m8 = 1 + ; //! SYNTAX
//# apply: a name that is a keyword
bit<8> table = 1; //! SYNTAX
//# apply: a variable of void
void x; //! TYPE
//# apply: a variable of string
string x; //! TYPE
//# apply: a variable of int without width
int x = 1; //! TYPE
//# apply: a variable of match_kind
match_kind x; //! TYPE
//# apply: a variable of an extern
X x; //! TYPE
//# apply: a switch on a bool
switch (m.f) { } //! TYPE
//# apply: a switch on a header
switch (m.h) { } //! TYPE
//# apply: a label of another width
switch (m.m8) {
    16w1: { } //! TYPE
}
//# apply: a label of another enum
switch (m.en) {
    F.A: { } //! TYPE
}
//# apply: a label at run time
switch (m.m8) {
    m.m8: { } //! CONSTANT
}
//# apply: a label twice
switch (m.m8) {
    1: { }
    1: { } //! DUPLICATE
}
//# apply: default twice
switch (m.m8) {
    default: { }
    default: { } //! TYPE
}
//# apply: a label behind default
switch (m.m8) {
    default: { }
    1: { } //! TYPE
}
//# apply: a label that is a mask
switch (m.m8) {
    1 &&& 1: { } //! SYNTAX
}
//# apply: a statement as a switch's body
switch (m.m8) {
    1: m.m8 = 2; //! SYNTAX
}
//# control: a switch with an action that the table lacks
action a() { }
action b() { }
table t { actions = { a; NoAction; } }
apply {
    switch (t.apply().action_run) {
        b: { } //! NAME
    }
}
//# control: a switch with an unknown action
table t { actions = { NoAction; } }
apply {
    switch (t.apply().action_run) {
        nothing: { } //! NAME
    }
}
//# control: a switch with an action twice
action a() { }
table t { actions = { a; NoAction; } }
apply {
    switch (t.apply().action_run) {
        a: { }
        a: { } //! DUPLICATE
    }
}
//# control: a switch on what apply gives
table t { actions = { NoAction; } }
apply {
    switch (t.apply()) { //! TYPE
        NoAction: { }
    }
}
//# control: a switch on an action_run with a number
table t { actions = { NoAction; } }
apply {
    switch (t.apply().action_run) {
        1: { } //! TYPE
    }
}
//# control: the result of apply as a number
table t { actions = { NoAction; } }
apply {
    m.m8 = t.apply(); //! TYPE
}
//# control: the result of apply as a condition
table t { actions = { NoAction; } }
apply {
    if (t.apply()) { } //! TYPE
}
//# control: an unknown member of the result of apply
table t { actions = { NoAction; } }
apply {
    if (t.apply().hits) { } //! NAME
}
//# control: hit without apply
table t { actions = { NoAction; } }
apply {
    if (t.hit) { } //! NAME
}
//# control: apply of a table with an argument
table t { actions = { NoAction; } }
apply {
    t.apply(1); //! TYPE
}
//# control: a table called by its name
table t { actions = { NoAction; } }
apply {
    t(); //! TYPE
}
//# apply: a loop over a bool
for (bit<8> i in m.f) { } //! TYPE
//# apply: a loop over a range of bools
for (bit<8> i in false .. true) { } //! TYPE
//# apply: a loop's condition that is a number
for (bit<8> i = 0; i; i = i + 1) { } //! TYPE
//# apply: a loop's update of the wrong type
for (bit<8> i = 0; i < 8; i = m.m16) { } //! TYPE
//# apply: a loop's variable behind the loop
for (bit<8> i = 0; i < 8; i = i + 1) { }
m.m8 = i; //! NAME
//# action: return with a value in an action
return m.m8; //! TYPE
//# action: apply of a table in an action
t0.apply(); //! PLACE
//# action: apply of a control in an action
c0.apply(m.m8); //! PLACE
//# action: a switch on a table in an action
switch (t0.apply().action_run) { default: { } } //! PLACE
//# action: an instance in an action
X() x; //! PLACE
//# apply: an instance in apply
X() x; //! PLACE
//# apply: a table in apply
table t { actions = { NoAction; } } //! SYNTAX
//# apply: an action in apply
action a() { } //! SYNTAX
//# apply: a struct in apply
struct q_t { bit<8> x; } //! SYNTAX
//# apply: a transition in apply
transition accept; //! SYNTAX
//# top: return without a value in a function
bit<8> f() { return; } //! TYPE
//# top: a function of void that returns a value
void f() { return 1; } //! TYPE
//# top: a function that returns another type
bit<8> f() { return true; } //! TYPE
//# top: a function without return
bit<8> f() { } //! TYPE
//# top: a function that returns in one branch only
bit<8> f(in bool b) { //! TYPE
    if (b) { return 1; }
}
//# top: a function that returns in some cases only
bit<8> f(in bit<8> b) { //! TYPE
    switch (b) {
        1: { return 1; }
        2: { return 2; }
    }
}
//# top: a function that returns in a loop only
bit<8> f(in bit<8> b) { //! TYPE
    for (bit<8> i = 0; i < b; i = i + 1) { return 1; }
}
//# top: exit in a function
void f() { exit; } //! PLACE
//# state: exit in a parser
exit; //! PLACE
//# state: return in a parser
return; //! PLACE
//# state: a switch in a parser
switch (m.m8) { default: { } } //! PLACE
//# state: apply of a table in a parser
t.apply(); //! NAME
//# apply: a declaration alone behind if, else or a loop's head
if (m.f) bit<8> x = 1; //! SYNTAX
if (m.f) { } else const bit<8> x = 1; //! SYNTAX
for (bit<8> i in 8w0 .. 8w3) bit<8> y; //! SYNTAX
