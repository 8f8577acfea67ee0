//# apply: switch wrong
switch (m.m8) { 1: { } 1: { } } //! DUPLICATE
switch (m.m8) { default: { } 1: { } } //! TYPE
switch (m.m8) { m.m8: { } } //! CONSTANT
switch (m.m8) { true: { } } //! TYPE
switch (m.m8) { 16w1: { } } //! TYPE
switch (m.f) { true: { } } //! TYPE
switch (m.s) { default: { } } //! TYPE
switch (m.m8) { default: { } default: { } } //! TYPE
switch (5) { 5: { } } //! TYPE
//# apply: switch label with brace
switch (m.m8) { {1}: { } } //! SYNTAX
//# apply: loops wrong
break; //! PLACE
continue; //! PLACE
for (bit<8> i = 0; i; i = i + 1) { } //! TYPE
for (bit<8> i in m.m8) { } //! TYPE
for (bit<16> i in 8w1..8w5) { } //! TYPE
for (bool i in 1..5) { } //! TYPE
for (bit<8> i in m.st) { } //! TYPE
for (bit<8> i in 1..2) { } m.m8 = i; //! NAME
//# action: break in an action out of a loop
break; //! PLACE
//# state: loop in a state
for (bit<8> i in 1..5) { } //! PLACE
//# state: switch in a state
switch (m.m8) { 1: { } } //! PLACE
//# state: bad packet ops
p.extract(m.s); //! TYPE
p.extract(m.m8); //! TYPE
p.extract({1, 2}); //! DIRECTION
p.extract(); //! TYPE
p.extract(m.h, 5); //! TYPE
p.advance(true); //! TYPE
m.m8 = p.lookahead(); //! TYPE
m.m8 = p.lookahead<bit<16>>(); //! TYPE
verify(m.m8, error.NoError); //! TYPE
verify(true, 5); //! TYPE
p.emit(m.h); //! NAME
p.extract<bit<8>>(_); //! TYPE
p.extract<h_t>(m.g); //! TYPE
//# apply: verify in a control
verify(m.f, error.NoError); //! PLACE
//# parser: select wrong
state start { transition select(m.m8, m.m16) {
(1, 2, 3): accept; //! TYPE
1: accept; //! TYPE
(true, 1): accept; //! TYPE
(16w1, 1): accept; //! TYPE
default: nowhere; //! NAME
} }
//# parser: select on a struct
state start { transition select(m.s) { //! TYPE
 default: accept; } }
//# parser: select on int
state start { transition select(5) { //! TYPE
 5: accept; } }
//# parser: unknown transition
state start { transition foo; } //! NAME
//# parser: two starts
state start { transition accept; }
state start { transition accept; } //! DUPLICATE
//# parser: accept defined
state start { transition accept; }
state accept { transition start; } //! DUPLICATE
//# parser: statement after transition
state start { transition accept; m.m8 = 1; } //! SYNTAX
//# parser: value set wrong
value_set<bit<8>>(4) v1;
state start { transition select(m.m16) { v1: accept; //! TYPE
 default: accept; } }
//# parser: value set as a value
value_set<bit<8>>(4) v1;
state start { m.m8 = v1; //! TYPE
 transition accept; }
//# control: value set in a control
value_set<bit<8>>(4) v1; //! PLACE
//# parser: a parameterised table in a parser
table t { actions = { NoAction; } } //! PLACE
state start { transition accept; }
//# control: key expressions wrong
action a() { } table t1 { key = {
m.s : exact; //! TYPE
m.h : exact; //! TYPE
m.m8 : foo; //! NAME
m.t : exact; //! TYPE
m.st : exact; //! TYPE
5 : exact @name("y"); //! TYPE
m.m8 + 1 : exact; //! TYPE
m.q : exact; //! NAME
} actions = { a; } }
apply { t1.apply(); }
//# control: table properties
action a() { } table t1 { key = { m.m8 : exact; } actions = { a; } size = 1 << 4; const size = 3; } //! DUPLICATE
//# control: no actions
table t1 { key = { m.m8 : exact; } } //! TYPE
apply { t1.apply(); }
//# control: empty table
table t1 { } //! TYPE
apply { t1.apply(); }
//# control: size wrong
action a() { } table t1 { actions = { a; }
size = true; //! TYPE
}
table t2 { actions = { a; }
size = m.m8; //! CONSTANT
}
//# control: entries wrong
action a(bit<8> x) { } action b() { }
table t1 { key = { m.m8 : exact; m.m16 : ternary; } actions = { a; } const entries = {
(1, 2): a(3);
1: a(3); //! TYPE
(1, 2, 3): a(3); //! TYPE
(1, 2): b; //! NAME
(1, 2): a; //! TYPE
(1, 2): a(true); //! TYPE
(1, 2): a(m.m8); //! CONSTANT
(m.m8, 2): a(1); //! CONSTANT
(true, 2): a(1); //! TYPE
(1, 2): a(1, 2); //! TYPE
(16w1, 2): a(1); //! TYPE
} }
apply { t1.apply(); }
//# control: entries without a key
action a() { } table t1 { actions = { a; }
const entries = { 1: a(); } //! TYPE
}
apply { t1.apply(); }
//# control: table redeclared
action a() { } table t1 { actions = { a; } }
table t1 { actions = { a; } } //! DUPLICATE
//# control: action redeclared
action a() { }
action a(bit<8> x) { } //! DUPLICATE
//# control: default_action wrong
action a(bit<8> x) { } action b() { }
table t1 { actions = { a; b; } default_action = a; } //! TYPE
table t2 { actions = { a; b; } default_action = a(true); } //! TYPE
table t3 { actions = { a; b; } default_action = 5; } //! TYPE
table t4 { actions = { a; b; } default_action = c; } //! NAME
table t5 { actions = { a; b; } default_action = a(m.m8); } //! CONSTANT
table t6 { actions = { a; m; } } //! TYPE
table t7 { actions = { a; zz; } } //! NAME
table t8 { actions = { a; a; } } //! DUPLICATE
//# control: apply blocks
action a() { } table t1 { actions = { a; } }
apply { t1.apply(1); //! TYPE
t1(); //! TYPE
a.apply(); //! NAME
t1.foo(); //! NAME
}
//# control: action with direction last
action a(bit<8> x, in bit<8> y) { } //! DIRECTION
//# control: action with int and string
action a(int x) { } //! TYPE
action b(string x) { } //! TYPE
//# control: unused local of table type
t1 x; //! NAME
//# control: code after apply
apply { } action a() { } //! SYNTAX
//# core: control without apply
control c() { action a() { } } //! SYNTAX
//# core: control without a body
control c() { apply }  //! SYNTAX
//# core: missing semicolon
control c() { bit<8> x
 apply { } } //! SYNTAX
//# core: extra brace
control c() { apply { } } }  //! SYNTAX
//# core: missing parenthesis
control c(in bit<8> x) { bit<8> y; apply { y = (x + 1; //! SYNTAX
} }
