"""Types: what can be stored, compared and taken apart (sections 7, 8); each piece of P4 runs on both engines."""

from __future__ import annotations

import pytest

from tests.programs.run import Case, ask

CASES = [
    Case(
        "a member that becomes valid makes the others invalid",
        (
            "u_t u; p = (bit<32>)(bit<1>)u.isValid(); u.h1.setValid(); u.h1.x = 5; "
            "q = (bit<32>)(bit<1>)(u.isValid() && u.h1.isValid()); u.h2.setValid(); "
            "r = (bit<32>)(bit<1>)u.h1.isValid(); u.h1 = { 9 }; "
            "s = (bit<32>)u.h1.x + (bit<32>)(bit<1>)u.h2.isValid();"
        ),
        (0, 0, 0, 0),
        (0, 1, 0, 9),
        declarations=(
            "header h1_t { bit<8> x; } header h2_t { bit<16> y; } header_union u_t { h1_t h1; h2_t h2; "
            "} struct su_t { u_t u; }"
        ),
    ),
    Case(
        "unions are copied and compared whole",
        (
            "u_t u; u_t v; v.h2 = { 77 }; u = v; p = (bit<32>)u.h2.y; q = (bit<32>)(bit<1>)(u == v); "
            "v = (u_t){#}; r = (bit<32>)(bit<1>)v.isValid(); h1_t z; u.h1 = z; "
            "s = (bit<32>)(bit<1>)u.h2.isValid();"
        ),
        (0, 0, 0, 0),
        (77, 1, 0, 1),
        declarations=(
            "header h1_t { bit<8> x; } header h2_t { bit<16> y; } header_union u_t { h1_t h1; h2_t h2; "
            "} struct su_t { u_t u; }"
        ),
    ),
    Case(
        "stacks of unions",
        (
            "u_t[3] u; u[0].h1 = {1}; u[b].h2 = {2}; p = (bit<32>)u[1].h2.y; u.push_front(1); "
            "q = (bit<32>)u[1].h1.x + (bit<32>)u[2].h2.y; r=(bit<32>)(bit<1>)u[0].isValid(); "
            "for (u_t k in u) { if (k.isValid()) s = s + 1; }"
        ),
        (0, 1, 0, 0),
        (2, 3, 0, 2),
        declarations=(
            "header h1_t { bit<8> x; } header h2_t { bit<16> y; } header_union u_t { h1_t h1; h2_t h2; "
            "} struct su_t { u_t u; }"
        ),
    ),
    Case(
        "structs inside headers",
        (
            "h_t h; h = { 1, { 2, { 3, true } }, 4 }; p = (bit<32>)h.s.a; q = (bit<32>)h.s.i.b; "
            "in_t i = h.s.i; i.b = 9; h.s.i = i; r = (bit<32>)h.s.i.b; h.s = { a = 5, i = { "
            "b= 6, c = false} }; "
            "s = (bit<32>) h.s.i.b + (bit<32>)(bit<1>)(h == (h_t){1, {5,{6,false}}, 4});"
        ),
        (0, 0, 0, 0),
        (2, 3, 9, 7),
        declarations=(
            "struct in_t { bit<7> b; bool c; } struct s_t { bit<8> a; in_t i; } header h_t { bit<4> x; "
            "s_t s; bit<4> y; }"
        ),
    ),
    Case(
        "nested tuples",
        (
            "tuple<bit<32>, tuple<bit<8>, bool>> t = { a, { 5, true } }; p = t[0]; "
            "q = (bit<32>)t[1][0]; r = (bit<32>)(bit<1>)(t == { a, {5, true} }); "
            "s = (bit<32>)(bit<1>)({a, 1} == {b, 1});"
        ),
        (3, 4, 0, 0),
        (3, 5, 1, 0),
    ),
    Case(
        "generic structs",
        (
            "S<bit<32>> x = { f = a, v = true }; G<bit<32>> g = { s = x }; p = g.s.f; "
            "S<tuple<bit<32>,bit<32>>> y = { {a, b}, false }; q = y.f[1]; r = pick(a, b, y.v);"
        ),
        (3, 4, 0, 0),
        (3, 4, 4, 0),
        declarations=(
            "struct S<T> { T f; bool v; } struct G<T> { S<T> s; } "
            "T pick<T>(in T x, in T y, in bool c) { T z = y; if (c) { z = x; } return z; }"
        ),
    ),
    Case(
        "generic headers and unions",
        (
            "H<bit<8>> h = { 3, 4 }; p = (bit<32>)h.t; H<bit<8>>[2] st = { {1, 2}, ... }; "
            "q = (bit<32>)st[0].t + (bit<32>)(bit<1>)st[1].isValid(); U<bit<16>> u; u.b = { 5, 6 }; "
            "r = (bit<32>)u.b.t;"
        ),
        (0, 0, 0, 0),
        (4, 2, 6, 0),
        declarations="header H<T> { bit<8> b; T t; } header_union U<T> { H<bit<8>> a; H<T> b; }",
    ),
    Case(
        "bit<0>",
        (
            "bit<0> z = 0; p = (bit<32>)z; q = a ++ z; r = (bit<32>)(bit<1>)(z == 0); s = b << z; "
            "z = z + 1; z = (bit<0>) a;"
        ),
        (3, 4, 0, 0),
        (0, 3, 1, 4),
    ),
    Case(
        "a field without bits",
        "h_t h = { 1, 0, 2 }; p = (bit<32>)h.x; h.z = 0; q = (bit<32>)h.y; r = (bit<32>)h.z;",
        (3, 4, 0, 0),
        (1, 2, 0, 0),
        declarations="header h_t { bit<8> x; bit<0> z; bit<8> y; }",
    ),
    Case(
        "serializable enums",
        (
            "E e = E.b; p = (bit<32>)(bit<8>)e; q = (bit<32>)(e + 1); e = (E)(bit<8>)9; "
            "r = (bit<32>)(bit<8>)e; s = (bit<32>)(bit<1>)(e == E.a); p = p + 32w16 << E.a;"
        ),
        (1, 0, 0, 0),
        (42, 6, 9, 0),
        declarations="enum bit<8> E { a = 1, b = 5 }",
    ),
    Case(
        "serializable enums as index and bound",
        ("k_t[3] k; k[K.b] = {7}; p = (bit<32>)k[2].z; q = (bit<32>)(a[K.b:0]); r = (bit<32>)(K.b ++ 8w1);"),
        (255, 2, 0, 0),
        (7, 7, 513, 0),
        declarations="header k_t { bit<8> z; } enum bit<8> K { b = 2 }",
    ),
    Case(
        "type",
        ("P9 x = (P9)9w5; P9 y = (P9)(bit<9>)a; p = (bit<32>)(bit<9>)x; q = (bit<32>)(bit<1>)(x == y);"),
        (5, 0, 0, 0),
        (5, 1, 0, 0),
        declarations="type bit<9> P9;",
    ),
    Case(
        "sizes",
        (
            "p = (bit<32>)hdr.given.minSizeInBits(); q = (bit<32>)V.maxSizeInBytes(); "
            "r = (bit<32>)V.minSizeInBits(); s = U.maxSizeInBits();"
        ),
        (5, 0, 0, 0),
        (128, 5, 8, 40),
        declarations="header V { bit<8> a; varbit<32> v; } header_union U { V v; V w; }",
    ),
    Case(
        "varbit",
        (
            "V v; V w; v.setValid(); v.a = 1; w = v; p = (bit<32>)(bit<1>)(v == w); "
            "varbit<32> z = v.v; q = (bit<32>)(bit<1>)(z == w.v); w = { 5, z }; w = { a = 6, ... }; "
            "r = (bit<32>)w.a;"
        ),
        (5, 0, 0, 0),
        (1, 1, 6, 0),
        declarations="header V { bit<8> a; varbit<32> v; }",
    ),
    Case(
        "match_kind",
        "const bool x = exact == ternary; p = x ? 32w1 : 32w2;",
        (5, 0, 0, 0),
        (2, 0, 0, 0),
    ),
    Case(
        "errors",
        (
            "error e = error.NoMatch; p = (bit<32>)(bit<1>)(e == error.NoMatch); switch (e) { "
            "error.NoError: { q = 1; } error.NoMatch: { q = 2; } } e = error.Mine; "
            "r = (bit<32>)(bit<1>)(e != error.NoMatch);"
        ),
        (0, 0, 0, 0),
        (1, 2, 1, 0),
        declarations="error { Mine }",
    ),
    Case(
        "structs that hold stacks",
        (
            "S x; x.k[0] = {1}; x.k[1] = {2}; S y = x; y.k[0].z = 5; p = (bit<32>)x.k[0].z; "
            "q = (bit<32>)y.k[0].z; r = (bit<32>)(bit<1>)(x == y); s = both(x, chg(x));"
        ),
        (0, 0, 0, 0),
        (1, 5, 0, 10),
        declarations=(
            "header h_t { bit<8> z; } struct S { h_t[2] k; bit<32> n; } bit<32> chg(inout S x) { "
            "x.k[0].z = 9; return 1; } bit<32> both(in S x, in bit<32> n) { "
            "return (bit<32>)x.k[0].z * 10; }"
        ),
    ),
    Case(
        "stacks as values",
        (
            "f_t[3] k; k[0] = {1}; k[1] = {2}; f_t[3] m = k; p = (bit<32>)(bit<1>)(m == k); "
            "m[a] = {5}; q = (bit<32>)(bit<1>)(m == k); f_t[2] l = { {7}, ... }; "
            "r = l[0].x + (bit<32>)(bit<1>)l[1].isValid(); k = {{4},{5},{6}}; s = k[a].x + k.size;"
        ),
        (2, 0, 0, 0),
        (1, 0, 7, 9),
        declarations="header f_t { bit<32> x; }",
    ),
    Case(
        "bool in a header",
        "k_t h = { true, 1, 2 }; p = (bit<32>)(bit<1>)h.f; h.f = !h.f; q = (bit<32>)(bit<1>)h.f;",
        (255, 2, 0, 0),
        (1, 0, 0, 0),
        declarations="header k_t { bool f; bit<7> z; int<8> w; }",
    ),
    Case(
        "constants of struct and tuple",
        (
            "p = k.x; q = (bit<32>)(bit<1>)(k == (T){1,2}); const bool eq = k == { 1, 2 }; "
            "r = eq ? 32w1 : 32w0; s = tt[1];"
        ),
        (0, 0, 0, 0),
        (1, 1, 1, 9),
        declarations=(
            "struct T { bit<32> x; bit<32> y; } const T k = { y = 2, x = 1 }; "
            "const tuple<bit<8>, bit<32>> tt = { 1, 9 };"
        ),
    ),
    Case(
        "widths and sizes from constants",
        ("bit<(W * 2)> x = 3; p = (bit<32>)x; q = (bit<32>)x.minSizeInBits(); h_t[(N + 1)] st; r = st.size;"),
        (0, 0, 0, 0),
        (3, 16, 3, 0),
        declarations="const int W = 8; const bit<8> N = 2; header h_t { bit<8> z; }",
    ),
    Case(
        "header expressions",
        (
            "p = (bit<32>)(bit<1>)((k_t){1}).isValid(); q = (bit<32>)((k_t){5}).z; k_t h; "
            "r = (bit<32>)(bit<1>)(h == {#}); s = (bit<32>)(bit<1>)(h == (k_t){0});"
        ),
        (255, 2, 0, 0),
        (1, 5, 1, 0),
        declarations="header k_t { bit<8> z; }",
    ),
    Case(
        "a list of structs",
        "for (P_t x in L) { p = p * 10 + x.a; q = q + x.b; }",
        (4, 2, 0, 0),
        (13, 6, 0, 0),
        declarations="struct P_t { bit<32> a; bit<32> b; } const list<P_t> L = { {1,2}, {3,4} };",
    ),
    Case(
        "types without parts",
        (
            "N n = {}; tuple<> u = {}; p = 1; q = (bit<32>)(bit<1>)(n == {}); X x; x.setValid(); "
            "r = (bit<32>)(bit<1>)x.isValid(); M m = { {}, 3 }; s = m.k;"
        ),
        (1, 0, 0, 0),
        (1, 1, 1, 3),
        declarations="struct N {} header X {} struct M { N n; bit<32> k; }",
    ),
    Case(
        "a header without fields is sent",
        "hdr.x.setValid(); p = 1;",
        (1, 0, 0, 0),
        (1, 0, 0, 0),
        declarations="header X {}",
        headers="X x;",
    ),
    Case(
        "casts to bool",
        (
            "bool t_ = (bool)a[0:0]; p = (bit<32>)(bit<1>)t_; q = (bit<32>)(bit<1>)(bool)1; "
            "typed_t z = (typed_t)true; r = (bit<32>)(bit<1>)(bool)z;"
        ),
        (1, 2, 3, 4),
        (1, 1, 1, 0),
        declarations="type bool typed_t;",
    ),
    Case(
        "literals beside values",
        (
            "p = (bit<32>)(bit<1>)(x == {1, {2, true}}); q = (bit<32>)(bit<1>)(x != {1, {2, false}}); "
            "r = (bit<32>)(bit<1>)({a, b} == {1, 2}); s = (bit<32>)(bit<1>)(hdr.given == {1,2,3,4});"
        ),
        (1, 2, 3, 4),
        (1, 1, 1, 1),
        declarations="struct I { bit<8> v; bool f; } struct O { bit<32> u; I i; }",
        local="O x = { 1, { 2, true } };",
    ),
    Case(
        "headers in tuples",
        (
            "tuple<A, bit<32>> t_ = { {1}, 2 }; p = (bit<32>)t_[0].x; A h = t_[0]; "
            "q = (bit<32>)(bit<1>)h.isValid(); tuple<A, bit<32>> v = t_; "
            "r = (bit<32>)(bit<1>)(v == t_);"
        ),
        (0, 0, 0, 0),
        (1, 1, 1, 0),
        declarations="header A { bit<8> x; }",
    ),
    Case(
        "unions as parameters",
        (
            "f(hdr.u, p); q = (bit<32>)(bit<1>)hdr.u.a.isValid(); g(hdr.u); "
            "r = (bit<32>)(bit<1>)hdr.u.isValid(); s = hdr.u.b.y;"
        ),
        (0, 5, 0, 0),
        (1, 1, 1, 9),
        declarations=(
            "header A { bit<8> x; } header B { bit<32> y; } header_union U { A a; B b; } "
            "void f(inout U u, inout bit<32> k) { u.b.setValid(); u.a = {1}; k = (bit<32>)u.a.x; } "
            "void g(out U u) { u.b = {9}; }"
        ),
        headers="U u;",
    ),
    Case(
        "an element of a union stack as parameter",
        (
            "bit<32> i = 0; f(us[i], i); p = (bit<32>)(bit<1>)us[0].b.isValid(); "
            "q = (bit<32>)(bit<1>)us[1].isValid(); r = us[0].b.y; s = i;"
        ),
        (0, 5, 0, 0),
        (1, 0, 9, 1),
        declarations=(
            "header A { bit<8> x; } header B { bit<32> y; } header_union U { A a; B b; } "
            "void f(inout U u, inout bit<32> k) { k = 1; u.a.setInvalid(); u.b = {9}; }"
        ),
        local="U[2] us;",
    ),
    Case(
        "sizes in widths",
        (
            "bit<(hdr.given.minSizeInBytes() * 2)> x = 1; p = (bit<32>)x.minSizeInBits(); "
            "q = (bit<32>)(f_t.minSizeInBits() + E1.minSizeInBits());"
        ),
        (0, 0, 0, 0),
        (32, 16, 0, 0),
        declarations="header f_t { bit<8> z; } enum bit<8> E1 { a = 1 }",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_types(case: Case) -> None:
    assert ask(case) == case.expected
