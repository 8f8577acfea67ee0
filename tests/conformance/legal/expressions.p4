//# apply: numbers without width take the width of the other side
m.m8 = m.m8 + 1; m.m16 = 3 + m.m16; m.f = 5 < m.m8; m.f = m.i8 > -3; m.m8 = 255; m.i8 = -128;
//# apply: numbers that do not fit are cut
m.m8 = 300; m.m8 = -1; m.i8 = 255;
//# apply: literals in every base
m.m32 = 0xFF_00 + 0o17 + 0b1010_1 + 0d10 + 10_000; m.m8 = 8w0xfF; m.i8 = 8s0b1; m.m16 = 16w0d1_0;
//# apply: literals in capital bases
m.m32 = 0XFF + 0O17 + 0B11 + 0D10;
//# apply: equality of what can be compared
m.f = m.h == m.h; m.f = m.s == m.s; m.f = m.st == m.st; m.f = m.t == m.t; m.f = m.e == error.NoError; m.f = E.A == m.en;
m.f = m.f != true; m.f = m.se == SE.P; m.f = m.n == m.n;
//# apply: equality with a list
m.f = m.t == { 1, true }; m.f = m.s == { 1, true }; m.f = m.s == { x = 1, f = true }; m.f = m.h == { 1, 2 };
//# apply: order of numbers
m.f = m.m8 < 8w3; m.f = m.i8 >= m.i8; m.f = m.m16 <= 5;
//# apply: shifts by unsigned amounts of any width
m.m8 = m.m8 << m.m32; m.m8 = m.m8 >> 3; m.i8 = m.i8 >> m.m8; m.m16 = m.m16 << 8w200;
//# apply: constants without width
const int k = 1 << 70; const int l = -k + 0; const int q = (k >> 60) * 3 - 4;
m.m32 = (bit<32>)q; m.f = k > 5;
//# apply: bits of numbers without width are folded, as p4c does
m.m8 = (1 | 4) ^ 0xF0 & 0x3C;
if (m.m8 == (1 | 2)) { m.i8 = -1 & 0x70; }
//# apply: saturating operators
m.m8 = m.m8 |+| 200; m.i8 = m.i8 |-| 8s3; m.m8 = 1 |-| m.m8;
//# apply: concatenation
m.m16 = m.m8 ++ m.m8; m.m16 = m.m8 ++ 8w0; m.m32 = m.m8 ++ m.m8 ++ m.m16; m.i16 = m.i8 ++ m.m8;
//# apply: slices
m.m8 = m.m16[11:4]; m.m8[3:0] = 4w1; m.m8[7:7] = 1; m.m8 = m.i16[7:0]; m.m8 = m.m16[4 +: 8]; m.m8[4 +: 2] = 2;
//# apply: slices of slices and of sums
m.m8 = (m.m16 + 1)[7:0]; m.m8[3:0] = m.m16[7:0][3:0];
//# apply: slices with constants
const bit<8> hi = 7; const int lo = 0; m.m8 = m.m16[hi:lo]; m.m8 = m.m16[7 + 0:lo];
//# apply: casts
m.i8 = (int<8>)m.m8; m.m8 = (bit<8>)m.i8; m.m16 = (bit<16>)m.m8; m.i16 = (int<16>)m.i8; m.m8 = (bit<8>)m.m32;
m.f = (bool)1w1; m.m8[0:0] = (bit<1>)m.f; m.m8 = (bit<8>)5; m.m8 = (bit<8>)m.se; m.se = (SE)m.m8; m.n = (n_t)m.m8; m.m8 = (bit<8>)m.n;
//# apply: a cast of a type to itself
m.m8 = (bit<8>)m.m8; m.h = (h_t)m.h; m.en = (E)m.en; m.f = (bool)m.f; m.s = (s_t)m.s;
//# apply: a cast of a list to a struct
m.s = (s_t){ 1, true }; m.s = (s_t){ x = 1, f = true }; m.h = (h_t){ 1, 2 };
//# apply: a number without width becomes a new type, as p4c does
const n_t k = 3;
m.n = m.f ? k : k;
m.n = 5;
//# apply: a serializable enum gives its number
m.m8 = SE.P; m.m8 = m.se + 1; m.f = m.se == 1; m.m8 = m.m8 + SE.Q;
//# apply: ?: in its forms
m.m8 = m.f ? 1 : m.m8; m.m8 = m.f ? m.m8 : 2; m.h.a = m.f && true ? 8w1 : 8w2; m.m8 = m.f ? m.f ? 8w1 : 8w2 : 8w3;
//# apply: precedence needs no brackets
m.f = m.m8 & 3 == 3 && !m.f || m.m8 + 1 * 2 > 3; m.m8 = m.m8 << 1 + 1; m.m8 = ~m.m8 & 0xf | 1 ^ m.m8;
//# apply: unary operators
m.m8 = -m.m8; m.m8 = ~m.m8; m.f = !m.f; m.m8 = +m.m8; m.i8 = - -m.i8; m.m8 = -1;
//# apply: division of unsigned numbers
m.m8 = m.m8 / 3; m.m8 = m.m8 % 8w3; m.m8 = m.m8 / m.m8; const int k = 7 / 2 + 7 % 2;
//# apply: an empty tuple, compared
tuple<> t = {}; m.f = t == {};
//# apply: elements of a tuple
m.m8 = m.t[0]; m.f = m.t[1]; const int i = 1; m.f = m.t[i];
//# apply: elements of a stack
m.h = m.st[0]; m.st[m.m8].a = 1; m.st[3] = m.h; m.m8 = m.st[m.m8 + 1].a; m.m32 = m.st.size;
//# apply: methods of headers and stacks
m.h.setValid(); m.h.setInvalid(); m.f = m.h.isValid(); m.st.push_front(1); m.st.pop_front(2); m.st[1].setValid(); m.f = m.st[m.m8].isValid();
//# apply: sizes of types
m.m32 = h_t.minSizeInBits(); m.m32 = m.h.minSizeInBytes(); m.m8 = m.m8.minSizeInBits();
//# apply: a struct as a list and by names
m.s = { 1, true }; m.s = { x = 1, f = true }; m.s = { f = false, x = 2 }; m.h = { 1, 2 }; m.h = { b = 1, a = 2 };
//# apply: defaults
m.s = { x = 1, ... }; m.s = { 1, ... }; m.h = { ... }; m.m8 = ...; s_t v = ...; m.h = {a = 1, ...};
//# apply: invalid headers
m.h = {#}; m.f = m.h == {#}; h_t v = {#}; m.st = (h_t[4]){ m.h, {#}, {#}, {#} };
//# apply: trailing commas
m.s = { 1, true, }; m.s = { x = 1, f = true, }; m.t = { 1, true, };
//# apply: nested lists
tuple<bit<8>, tuple<bool, bit<8>>> t = { 1, { true, 2 } }; m.m8 = t[1][1];
//# apply: a tuple of one
tuple<bit<8>> t = { 1 }; m.m8 = t[0];
//# apply: updates in place
m.m8 += 1; m.m8 -= m.m8; m.m8 *= 2; m.m8 /= 2; m.m8 %= 3; m.m8 &= 1; m.m8 |= 1; m.m8 ^= 1; m.m8 <<= 1; m.m8 >>= m.m32; m.m8 |+|= 1; m.m8 |-|= 1;
m.m8[3:0] += 1; m.st[0].a += 1;
//# apply: names that are not keywords
bit<8> set = 1; bit<8> verify = set; bit<8> accept = verify; bit<8> size = accept; bit<8> key = size; bit<8> actions = key;
bit<8> state = actions; bit<8> entries = state; bit<8> type = entries; bit<8> priority = type; m.m8 = priority;
//# apply: absolute names
m.m8 = .fun(m.m8); .s_t v = { 1, true }; m.s = v;
//# apply: enumerations' and errors' members
m.en = E.B; m.e = error.PacketTooShort; m.se = SE.Q; m.f = m.e != error.NoMatch;
//# apply: a generic struct with its argument
G<bit<8>> g = { 1 }; m.m8 = g.t; G<G<bool>> gg = { { true } }; m.f = gg.t.t;
//# top: strings joined
const string s = "a" ++ "b";
//# top: strings over lines and with escapes
const string s = "a \" b \\ c
d";
//# top: constants from constants
const bit<8> a = 1; const bit<(a + 7)> b = a + 1; const int c = (int)b; const bool d = a == 1 && c > 0; const bit<16> e = d ? 1 : 2;
//# top: constant structs, tuples and lists
struct s_t { bit<8> a; bool b; }
const s_t k = { 1, true }; const bit<8> f = k.a; const tuple<bit<8>, bool> t = { 1, true }; const bool g = t[1];
const list<s_t> l = (list<s_t>){ { 1, true }, { 2, false } };
//# top: widths of zero
const bit<0> k = 0; struct s_t { bit<0> a; }
//# top: widths by expressions
const int n = 3; typedef bit<(n * 4)> w_t; const w_t k = 0xfff; struct s_t { bit<(n)> a; int<(n + 1)> b; varbit<(n * 8)> c; }
