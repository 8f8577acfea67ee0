//# top: keywords as names
struct list_s { bit<8> apply; bit<8> key; bit<8> actions; bit<8> state; bit<8> entries; bit<8> type; bit<8> priority; bit<8> list; }
control C1(inout list_s s) { apply { s.apply = s.key; s.type = s.priority + s.list; } }
//# top: keywords as variables
control C1(inout bit<8> x) { bit<8> key; bit<8> state; bit<8> type; bit<8> priority; bit<8> entries; bit<8> actions; apply { key = x; state = key; type = state; priority = type; entries = priority; actions = entries; x = actions; } }
//# control: keywords as actions and tables
action state() { } action type() { } action priority() { }
table key { actions = { state; type; priority; } }
table actions { actions = { state; } }
apply { key.apply(); actions.apply(); }
//# parser: states called by keywords
state start { transition select(m.m8) { 1: key; 2: apply; default: state; } }
state key { transition accept; } state apply { transition accept; } state state { transition accept; }
//# top: a function called apply
bit<8> apply(in bit<8> key) { return key; }
//# top: a struct called like an extern's method
struct extract { bit<8> x; }
//# apply: a variable shadowing a type
bit<8> h_t = 1; m.m8 = h_t;
//# apply: a local variable with the name of an action
bit<8> NoAction = 3; m.m8 = NoAction;
//# top: annotations with keywords as names
@table @action("x") @apply(1, 2) @in @default const bit<8> c = 1;
//# top: annotation with structured expressions
@x[1, 2, "a", true] @y[a = 1, b = "x", c = false] @z[] const bit<8> c = 1;
//# top: annotation with structured expressions, trailing comma
@x[1, 2,] @y[a = 1,] const bit<8> c = 1;
//# top: annotations in parameters, fields, members
@a struct s { @b @c(1) bit<8> x; }
extern Xx { @d Xx(@e bit<8> k); @f void go(@g in bit<8> k); }
@h control C1(@i inout bit<8> x)(@j bit<8> y) { @k bit<8> z; @l action a(@m bit<8> w) { } apply { @n { } } }
//# control: annotations in tables 2
action a1() { } action a2() { }
@a table t1 { key = { m.m8 : exact @b("x") @c; } actions = { @d a1; @e @f a2; } @g size = 3; @h const default_action = a1(); @i const entries = { 1 : a1() @j; 2: a2() @k(1); } }
apply { @l { t1.apply(); } }
//# parser: annotations on states and blocks
@a state start { @b { m.m8 = 1; } @c bit<8> x = 1; transition accept; }
//# top: annotation on enum, error, matchkind, typedef
@a enum E1 { X } @b enum bit<8> E2 { Y = 1 } @c typedef bit<8> t1; @d type bit<8> t2; @e error { Z } @f match_kind { zz }
//# top: unicode in comment and string
// ünïcödé ✓ 日本
/* ✓ */
@name("✓é") const bit<8> c = 1;
//# top: nested comment
/* /* */ const bit<8> c = 1;
//# top: line continuation
#define A 1 + \
   2
const bit<8> c = A;
//# top: line continuation outside directives
const bit<8> \
 c = 1;
//# top: literals
const bit<32> c1 = 32w255; const bit<32> c2 = 32w0d255; const bit<32> c3 = 32w0xFF; const int<32> c4 = 32s0xFF; const int<8> c5 = 8s0b10101010; const bit<8> c6 = 8w0b_1010_1010; const bit<8> c7 = 8w170; const bit<8> c8 = 8w0b1010_1010; const int c9 = 0o17; const int c10 = 1_000_000; const bit<8> c11 = 0B11; const bit<8> c12 = 0XfF;
//# top: string newline
@name("a
b") const bit<8> c = 1;
//# top: empty declarations
;;; const bit<8> c = 1;; struct s { };
//# top: struct followed by semicolon
struct s { bit<8> x; };
header h { bit<8> x; };
enum e { A };
error { B };
control c1() { apply { } };
parser p1() { state start { transition accept; } };
bit<8> f1() { return 1; };
extern Z { };
action a1() { };
//# top: trailing commas
enum e { A, B, } enum bit<8> e2 { A = 1, B = 2, } match_kind { aa, bb, } error { EE, FF, }
//# apply: trailing commas in lists
m.t = { 1, true, }; m.s = { x = 1, f = true, }; m.s = { x = 1, ..., };
//# apply: an empty braces
tuple<> e1 = {};
//# apply: deep parens
m.m8 = ((((((((m.m8))))))));
//# apply: parenthesised lvalue
(m.m8) = 1;
//# apply: empty statement in ifs
if (m.f) ; else ;
//# apply: blocks
{ } { ; } { { } }
//# top: structures in variables called by keywords
struct S { bit<8> x; } control C1() { S state; S apply; apply { state = { 1 }; apply = { 2 }; state = apply; } }
