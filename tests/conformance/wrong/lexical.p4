//# control: annotations in tables
@a table t1 { key = { m.m8 : exact @b("x") @c; } actions = { @d a1; @e @f a2; } @g size = 3; @h const default_action = a1(); @i const entries = { 1 : a1() @j; 2: a2() @k(1); } }
apply { @l { t1.apply(); } @m if (m.f) { } }  //! SYNTAX
//# top: enum members' annotations are not in the grammar
enum E1 { @x X } //! SYNTAX
//# top: unicode identifier
const bit<8> é = 1; //! SYNTAX
//# top: bad literals
const bit<8> c1 = 8w; //! SYNTAX
//# top: bad literal 2
const bit<8> c1 = 0xZZ; //! SYNTAX
//# top: bad literal 3
const bit<8> c1 = 8wz; //! SYNTAX
//# top: bad literal 4
const bit<8> c1 = 0b12; //! SYNTAX
//# top: bad literal 5
const bit<8> c1 = 1abc; //! SYNTAX
//# top: float
const bit<8> c1 = 1.5; //! SYNTAX
//# top: character
const bit<8> c1 = 'a'; //! SYNTAX
//# top: dont-care as a name
const bit<8> _ = 1; //! SYNTAX
//# apply: trailing comma in arguments is not in the grammar
m.m8 = fun(m.m8,); //! SYNTAX
