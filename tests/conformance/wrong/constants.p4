//# apply: a constant from a variable
const bit<8> k = m.m8; //! CONSTANT
//# control: a constant from a parameter
const bit<8> k = m.m8; //! CONSTANT
//# top: a constant from a function
bit<8> f() { return 1; }
const bit<8> k = f(); //! CONSTANT
//# top: a width from a function
bit<8> f() { return 1; }
const bit<(f())> k = 1; //! CONSTANT
//# apply: an index of a slice from a variable
bit<8> i = 3;
m.m8 = 7w0 ++ m.m8[i:i]; //! CONSTANT
//# top: a constant's division by zero
const int k = 5 / 0; //! CONSTANT
//# top: a constant's modulo by zero
const int k = 5 % 0; //! CONSTANT
//# top: a constant's shift by a negative number
const int k = 5 << (-1); //! CONSTANT
//# core: a static_assert that fails
const bool ok = static_assert(1 == 2, "no"); //! CONSTANT
//# core: a static_assert without a text that fails
const bool ok = static_assert(false); //! CONSTANT
//# apply: a static_assert of a value at run time
static_assert(m.f, "no"); //! CONSTANT
//# core: a static_assert of a number
const bool ok = static_assert(1, "no"); //! TYPE
//# control: a select label from a variable in an entry
table t {
    key = { m.m8: exact; }
    actions = { NoAction; }
    const entries = {
        m.m8: NoAction(); //! CONSTANT
    }
}
//# control: a table's size from a variable
table t {
    actions = { NoAction; }
    size = m.m32; //! CONSTANT
}
//# control: a table's size that is not a number
table t {
    actions = { NoAction; }
    size = true; //! TYPE
}
//# control: a table of negative size
table t {
    actions = { NoAction; }
    size = -1; //! CONSTANT
}
//# control: an action's argument in an entry at run time
action a(bit<8> x) { }
table t {
    key = { m.m8: exact; }
    actions = { a; NoAction; }
    const entries = {
        1: a(m.m8); //! CONSTANT
    }
}
//# control: a default action's argument at run time
action a(bit<8> x) { }
table t {
    actions = { a; }
    default_action = a(m.m8); //! CONSTANT
}
//# top: a member's value at run time
extern bit<8> f();
enum bit<8> E { A = f() } //! CONSTANT
//# top: a constructor's argument at run time
extern X { X(bit<8> a); }
control C(in bit<8> v) {
    X(v) x; //! CONSTANT
    apply { }
}
//# top: a control's constructor argument at run time
control A(in bit<8> v)(bit<8> k) { apply { } }
control C(in bit<8> v) {
    A(v) x; //! CONSTANT
    apply { x.apply(v); }
}
//# top: two string constants with plus
const string s = "a" + "b"; //! TYPE
//# top: a literal of another sign than its type
const bit<8> k = 8s1; //! TYPE
//# top: a literal of another width than its type
const bit<8> k = 16w1; //! TYPE
//# top: a literal with a width of zero digits
const bit<8> k = 8w; //! SYNTAX
//# top: an octal digit out of range
const bit<8> k = 0o9; //! SYNTAX
//# top: a binary digit out of range
const bit<8> k = 0b2; //! SYNTAX
//# top: a hexadecimal digit out of range
const bit<8> k = 0xg; //! SYNTAX
//# top: a hexadecimal number without digits
const bit<8> k = 0x; //! SYNTAX
//# top: a fraction
const bit<8> k = 1.5; //! SYNTAX
//# top: a literal of width zero with a sign
const int k = 0s1; //! CONSTANT
