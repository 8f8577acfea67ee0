//# top: nested generics and shifts
struct S<T> { T x; } struct P2<A, B> { A a; B b; } typedef P2<S<bit<8>>, S<S<bit<16>>>> t1; const bit<8> k = 8w1 >> 2; typedef tuple<bit<8>, tuple<bit<(16 >> 1)>>> t2; typedef list<list<S<bit<8>>>> t3;
//# top: widths with comparisons in brackets
const bit<((3 > 2) ? 8 : 16)> k = 1; const bit<(1 << 3)> l = 2;
//# apply: casts
m.m8 = (bit<8>)(m.m16); m.m8 = (bit<8>) -m.i8; m.i8 = (int<8>)~m.m8; m.m8 = (bit<8>)m.m16[15:8]; m.m16 = (bit<16>)m.m8 << 8; m.m16 = (bit<16>)(m.m8 ++ m.m8); m.m8 = (bit<8>)(bit<16>)m.m32; m.n = (n_t)m.m8; m.m8 = (bit<8>)m.n; m.f = (bool)m.m8[0:0]; m.m8[0:0] = (bit<1>)m.f; m.s = (s_t){1, true}; m.m8 = ((s_t){1, true}).x; m.m8 = (bit<8>)SE.P; m.se = (SE)m.m8; m.se = (SE)1; m.i16 = (int<16>)m.i8;
//# apply: comparisons that look like generics
m.f = m.m8 < m.m16[7:0] && m.m8 > (m.m8); m.f = (m.m8) < (m.m8); bit<8> a = 1; bit<8> b = 2; m.f = a < b || b > (a); m.f = fun(a) < fun(b); m.f = a < 3 && b > (4);
//# apply: unary chains
m.m8 = - - m.m8; m.m8 = ~~m.m8; m.f = !!m.f; m.m8 = -(-1); m.m8 = +m.m8; m.m8 = m.m8 - -m.m8; m.m8 = ~-m.m8;
//# apply: precedence
m.f = m.m8 & 3 == 3; m.f = m.m8 == 3 | 4; m.m8 = m.m8 + m.m8 << 2; m.m8 = 1 + 2 * 3 - 4 / 2 % 3; m.f = 1 == 1 == true; m.m16 = m.m8 ++ m.m8 + 1; m.f = m.m8 < 3 == m.m8 > 4; m.m8 = m.f ? m.f ? 8w1 : 2 : (m.f ? 8w3 : 4);
//# apply: members with odd names
bit<8> apply = 1; bit<8> key = apply; m.m8 = key; bit<8> select1 = 2; bit<8> header1 = select1; bit<8> isValid = header1; bit<8> setValid = isValid; m.m8 = setValid;
//# top: fields called like methods
header H { bit<8> isValid; bit<8> setValid; bit<8> minSizeInBits; bit<8> apply; bit<8> next; bit<8> last; bit<8> size; bit<8> key; bit<8> type; bit<8> state; bit<8> priority; bit<8> list; }
control C1(inout H h) { apply { h.minSizeInBits = h.apply; h.next = h.size; h.isValid = h.setValid; if (h.isValid == 1) { h.type = h.key; } h.list = h.priority + h.state + h.last; } }
//# top: a parameter named like a type
struct foo { bit<8> x; } control C1(in foo foo) { bit<8> y = foo.x; apply { } }
//# top: a variable named like a type declared before
struct foo { bit<8> x; } control C1() { foo foo; apply { foo.x = 1; bit<8> z = foo.x; } }
//# top: type parameter named like a type
struct T { bit<8> x; } void f<T>(in T x) { T y = x; } control C1(in T x) { apply { f(x); f(8w1); } }
//# top: a function named like a variable
bit<8> x(in bit<8> x) { return x; } control C1(in bit<8> y) { bit<8> z = x(y); apply { bit<8> x = 1; z = x; } }
//# top: extern function with a type argument that is a struct
struct S { bit<8> x; } extern T get<T>(in bit<8> i); control C1() { S s = get<S>(1); bit<8> y = get<S>(2).x; bit<8> z = get<bit<8>>(3); tuple<bit<8>> t = get<tuple<bit<8>>>(1); apply { } }
//# top: an extern without constructor parameters is made
extern X { X(); } X() x; X() y;
//# top: annotations before instantiations, variables and statements
extern X { X(); } @name("a") X() x; control C1() { @name("b") X() y; @hidden bit<8> z = 1; apply { @unlikely { z = 2; } @x bit<8> w = z; @x const bit<8> v = 1; } }
//# top: empty everything
control C1() { apply { } } parser P1() { state start { } } struct S { } header H { } header_union U { } extern X { } package K(); void f() { } action a() { }
//# top: package of nothing
package K(); K() main;
//# core: comment forms
/**/ const bit<8> a = 1; /***/ const bit<8> b = 2; /* // */ const bit<8> c = 3; // /* 
const bit<8> d = /* x */ 4 /* y
*/ ; /** doc */ const bit<8> e = 5;// end
//# core: numbers beside names
const bit<8> a = 8w1+1; const bit<8> b = 8w0xA|8w0b1; const bit<8> c=0xF&0x3; const int<8> d = -8s1; const bit<32> e = 0xDEAD_BEEF; const bit<4> f = 4w0b0_1_0_1;
//# core: signed literal too wide
const int<4> a = 4s9; const bit<4> b = 4w17;
//# core: zero width literals
const bit<0> a = 0w0; const bit<8> b = 8w1 ++ 0w0;
//# core: strings in annotations with escapes
@name("a\"b\\") const bit<8> a = 1; @x("\n") const bit<8> b = 2; @description("multi
line") const bit<8> c = 3;
//# core: package constructor by name with optional
control C1(); package K(@optional C1 a, C1 b, @optional C1 c); control x() { apply { } } K(b = x()) main;
//# core: constants of every kind
enum E { A, B } enum bit<4> SE { X = 1 } header H { bit<8> a; } struct S { H h; tuple<bit<8>, bool> t; E e; SE s; error r; bool b; int<4> i; }
const S s = { { 1 }, { 2, true }, E.B, SE.X, error.NoError, false, -3 }; const H h = s.h; const bit<8> x = s.t[0]; const bool b = s.e == E.B; const SE se = s.s; const error r = s.r; const bit<8> y = s.h.a;
//# core: constants in parser and control
parser p(packet_in b) { const bit<8> x = 1; bit<8> y = x; state start { const bit<8> z = x + 1; y = z; transition select(y) { x: accept; x + 1: accept; default: reject; } } }
//# core: duplicate cases of select
parser p(packet_in b) { state start { transition select(b.lookahead<bit<8>>()) { 1: accept; 1: accept; default: accept; default: reject; } } }
//# core: sub-parsers
header H { bit<8> a; } parser q(packet_in b, out H h)(bit<8> n) { state start { b.extract(h); transition select(h.a) { n: accept; default: reject; } } }
parser r(packet_in b, out H h) { state start { b.extract(h); transition accept; } }
parser p(packet_in b, out H h) { q(3) i; q(n = 4) j; H k; state start { i.apply(b, h); j.apply(b, k); r.apply(b, h); transition next; } state next { transition accept; } }
//# core: control calls
header H { bit<8> a; } control r(inout H h, in bit<8> x)(bool f) { apply { if (f) h.a = x; } } control s(out bit<8> y) { apply { y = 1; } }
control c(inout H h) { r(true) i; r(f = false) j; s() k; bit<8> z; apply { i.apply(h, 1); j.apply(x = 2, h = h); k.apply(z); s.apply(z); s.apply(_); k.apply(y = z); } }
