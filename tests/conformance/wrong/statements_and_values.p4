//# core: struct as a key-value list in other order, nested
struct I { bit<8> x; bit<8> y; } struct S { I i; bit<16> b; bool[0] c; } //! TYPE
//# core: equality of a tuple and a struct
struct S { bit<8> a; bit<16> b; } control c(in S s, in tuple<bit<8>, bit<16>> t) { apply { bool e = s == t; } } //! TYPE
//# core: loops over everything
header H { bit<8> a; } struct S { H[3] h; } control c(inout S s) { bit<8> n; apply { for (H h in s.h) { n = n + h.a; } for (bit<8> i in 1 .. n) { for (bit<8> j in i .. i + 2) n = j; } for (bit<16> i = 0, bit<16> j = 1; i < j && n != 3; i = i + 1, n = n + 1) { if (i == 3) continue; break; } for (n = 0; n < 3; n = n + 1) ; for (n in 1 .. 3) { } } } //! SYNTAX
//# core: actions with directions, called
control c(inout bit<8> x) { action a(inout bit<8> p, in bit<8> q, bit<8> r) { p = q + r; } action b() { a(x, 1, 2); a(x, x, x); a(r = 1, q = 2, p = x); } table t { key = { x: exact; } actions = { a(x, 5); a2(x); b; } } action a2(out bit<8> z) { z = 1; } apply { } } //! NAME
//# core: largest priority wins is not a number
control c(inout bit<8> x) { action a() { } table t { key = { x: ternary; } actions = { a; } 
largest_priority_wins = 1; //! TYPE
priority_delta = 0; //! CONSTANT
entries = { 3: a(); } } apply { t.apply(); } }
