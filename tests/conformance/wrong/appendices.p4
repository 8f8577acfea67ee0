//# core: a structured annotation mixed with the other kind
control c() { @my(1)
@my[2] table u { actions = { NoAction; } } apply { } } //! DUPLICATE
//# core: the same structured annotation twice
control c() { @my[1]
@my[2] table u { actions = { NoAction; } } apply { } } //! DUPLICATE
//# core: a key twice
control c() {
@my[k1=4,k1=5] table u { actions = { NoAction; } } apply { } } //! DUPLICATE
//# core: pairs and values mixed
control c() {
@my[key=4, 5] table u { actions = { NoAction; } } apply { } } //! SYNTAX
//# core: a variable in a structured annotation
control c(in bit<8> x) {
@my[x] table u { actions = { NoAction; } } apply { } } //! NAME
//# top: wrong forms of annotations
@noWarn(5) const bit<8> a = 1; //! SYNTAX
@deprecated const bit<8> b = 1; //! SYNTAX
@pure(1) extern void f(); //! SYNTAX
@id("x") const bit<8> c = 1; //! SYNTAX
//# core: static assertions as constants
const bool _check = static_assert(5 > 2018, "Expected more"); //! CONSTANT
//# apply: masks and ranges outside keysets
m.f = m.m8 == (1 &&& 2); //! SYNTAX
//# apply: header methods where no header is
m.s.setValid(); //! NAME
m.m8.isValid(); //! NAME
m.st.setValid(); //! NAME
m.h.foo(); //! NAME
m.h.setValid(1); //! TYPE
m.h.isValid() = true; //! DIRECTION
(fun(1)).x = 1; //! NAME
//# apply: an instance of the union in a switch and an if
if (m.h) { } //! TYPE
if (m.st[0].isValid()) { }
switch (m.h) { } //! TYPE
//# apply: unsized things
m.m8 = m.m8 ++ 5; //! TYPE
m.m8 = 5 ++ m.m8; //! TYPE
m.f = 5 == true; //! TYPE
m.m8 = !5 ? 1 : 2; //! TYPE
m.m8 = m.f + 1; //! TYPE
m.e = error.A; //! NAME
m.en = E.C; //! NAME
m.en = 0; //! TYPE
m.e = 0; //! TYPE
m.en = (E)0; //! TYPE
