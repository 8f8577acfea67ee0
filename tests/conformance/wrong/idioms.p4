//# top: an extern without a constructor
extern X { void f(); }
X() x; //! TYPE
//# apply: if with annotation
@x if (m.f) { } //! SYNTAX
//# apply: annotated assignment
@x m.m8 = 1; //! SYNTAX
//# core: a comment cuts a token
const b/**/it<8> a = 1; //! NAME
//# core: width prefix underscores
const bit<8> a = 8_w1; //! SYNTAX
//# core: package constructor missing
control C1(); package K(@optional C1 a, C1 b); control x() { apply { } }
K() main; //! TYPE
//# core: constant of a function call
bit<8> f() { return 1; }
const bit<8> x = f(); //! CONSTANT
//# core: parser calls with wrong arguments
header H { bit<8> a; } parser r(packet_in b, out H h) { state start { b.extract(h); transition accept; } }
parser p(packet_in b, out H h, in H g) { r() i; state start { i.apply(b); //! TYPE
i.apply(b, g); //! DIRECTION
i.apply(h, b); //! DIRECTION
i.apply(b, h, h); //! TYPE
r.apply(b, h); transition accept; } }
