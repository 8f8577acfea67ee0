"""Calls: order of evaluation, copies in and out, exit and return (sections 6.7, 6.8, 8.20), on both engines."""

from __future__ import annotations

import pytest

from tests.programs.run import Case, ask

CASES = [
    Case(
        "values of a type parameter are equal",
        "s_t v = { a, h.isValid() }; s_t w = { c, false }; p = one(same(a, b)); q = one(same(a, c)); "
        "r = one(same(v, w)); s = one(same({a, b}, {c, d}));",
        (7, 8, 7, 8),
        (0, 1, 1, 1),
        declarations=(
            "header h_t { bit<8> x; } struct s_t { bit<32> x; bool y; } "
            "bool same<T>(in T x, in T y) { return x == y; } bit<32> one(in bool x) { return x ? 32w1 : 0; }"
        ),
        local="h_t h;",
    ),
    Case(
        "functions of one name are told by their parameters' names",
        "p = f(x = a); q = f(y = a); r = f(a, b);",
        (1, 2, 0, 0),
        (1, 101, 201, 0),
        declarations=(
            "bit<32> f(in bit<32> x) { return x; } bit<32> f(in bit<32> y) { return y + 100; } "
            "bit<32> f(in bit<32> x, in bit<32> y) { return x + y * 100; }"
        ),
    ),
    Case(
        "a tuple in a select",
        "p = meta.found;",
        (1, 2, 3, 4),
        (12, 0, 0, 0),
        meta="bit<32> found;",
        parser=(
            "parser P_(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {"
            " state start { packet.extract(hdr.given); tuple<bit<32>, bit<32>> t = { hdr.given.a, hdr.given.b };"
            " transition select(t) { (2, 1): wrong; (1, 2 &&& 3): next; default: wrong; } }"
            " state next { transition select({hdr.given.c, hdr.given.d}) { (3, _): right; default: wrong; } }"
            " state right { meta.found = 12; transition accept; } state wrong { meta.found = 1; transition accept; } }"
        ),
    ),
    Case(
        "left to right",
        "p = a + inc(a) + a; q = f(inc(b), inc(b)); bit<32> k = 1; r = g(k, inc(k)); s = k;",
        (1, 1, 0, 0),
        (5, 23, 102, 2),
        declarations=(
            "bit<32> inc(inout bit<32> i) { i = i + 1; return i; } "
            "bit<32> f(in bit<32> x, in bit<32> y) { return x*10+y; } "
            "bit<32> g(in bit<32> x, in bit<32> y) { return x*100+y; }"
        ),
    ),
    Case(
        "an inout argument that a later argument changes",
        "p = h(a, inc(a)); q = a;",
        (1, 1, 0, 0),
        (1, 50, 0, 0),
        declarations=(
            "bit<32> inc(inout bit<32> i) { i = i + 1; return i; } "
            "bit<32> h(inout bit<32> x, in bit<32> y) { bit<32> o = x; x = 50; return o; }"
        ),
    ),
    Case(
        "named arguments in the order of the call",
        "p = f(y = inc(a), x = inc(a));",
        (1, 1, 0, 0),
        (32, 0, 0, 0),
        declarations=(
            "bit<32> inc(inout bit<32> i) { i = i + 1; return i; } "
            "bit<32> f(in bit<32> x, in bit<32> y) { return x*10+y; }"
        ),
    ),
    Case(
        "default values of parameters",
        "p = f(1); q = f(x = 2); r = f(3, 4);",
        (1, 1, 0, 0),
        (15, 25, 34, 0),
        declarations="bit<32> f(in bit<32> x, in bit<32> y = 5) { return x*10+y; }",
    ),
    Case(
        "arguments that overlap",
        "two(a, a); p = a; sw(b, c); q = b; r = c;",
        (1, 7, 8, 0),
        (2, 8, 7, 0),
        declarations=(
            "void two(inout bit<32> x, inout bit<32> y) { x = 1; y = y + x; x = 100; y = 2; } "
            "void sw<T>(inout T x, inout T y) { T z = x; x = y; y = z; }"
        ),
    ),
    Case(
        "parameters of type int",
        "p = sh(a, 3); q = w(7);",
        (1, 0, 0, 0),
        (8, 14, 0, 0),
        declarations="bit<32> sh(in bit<32> x, int n) { return x << n; } bit<32> w(int n) { return 2 * n; }",
    ),
    Case(
        "overloads by number",
        "p = f(a); q = f(a, b);",
        (5, 6, 0, 0),
        (5, 11, 0, 0),
        declarations=("bit<32> f(in bit<32> x) { return x; } bit<32> f(in bit<32> x, in bit<32> y) { return x + y; }"),
    ),
    Case(
        "exit copies out",
        "if (a == 1) { act(hdr.found.p); } p = 5;",
        (1, 0, 0, 0),
        (9, 0, 0, 0),
        local="action act(inout bit<32> x) { x = 9; exit; }",
    ),
    Case(
        "exit copies out through all callers",
        "hdr.found.q = 20; outer(hdr.found.q);",
        (1, 0, 0, 0),
        (0, 31, 0, 0),
        local=(
            "action inner(inout bit<32> x) { x = x + 10; exit; } action outer(inout bit<32> x) { "
            "x = x + 1; inner(x); x = 99; }"
        ),
    ),
    Case(
        "return from within loops",
        "p = f(a); q = g(a);",
        (3, 0, 0, 0),
        (14, 7, 0, 0),
        declarations=(
            "bit<32> f(in bit<32> x) { bit<32> t = 0; for (bit<32> i in 0..9) { "
            "for (bit<32> j in 0..9) { t = t + 1; if (i * j == x) { return t; } } } return 99; } "
            "void h(inout bit<32> x) { if (x == 3) { x = 7; return; } x = 8; } "
            "bit<32> g(in bit<32> x) { bit<32> y = x; h(y); return y; }"
        ),
    ),
    Case(
        "out parameters",
        "o1(p, q); o2(hdr.found); r = (bit<32>)(bit<1>)hdr.found.isValid(); hdr.found.setValid();",
        (3, 0, 0, 0),
        (5, 6, 0, 0),
        declarations="void o1(out bit<32> x, out bit<32> y) { x = 5; y = 6; } void o2(out found_t h) { }",
    ),
    Case(
        "slices as inout arguments",
        "inc(a[7:0]); p = a; inc(b[c[4:0] +: 8]); q = b;",
        (255, 0xFF00, 8, 0),
        (0, 0, 0, 0),
        declarations="void inc(inout bit<8> x) { x = x + 1; }",
    ),
    Case(
        "the index of an argument is taken before the call",
        "f_t[2] k; k[0] = {1}; k[1] = {2}; upd(k[a].x, a); p = k[0].x; q = k[1].x; r = a;",
        (0, 0, 0, 0),
        (50, 2, 1, 0),
        declarations="header f_t { bit<32> x; } void upd(inout bit<32> x, inout bit<32> i) { i = 1; x = 50; }",
    ),
    Case(
        "the index of an argument is taken before later arguments",
        "f_t[2] k; k[0] = {1}; k[1] = {2}; upd(k[a].x, g(a)); p = k[0].x; q = k[1].x; r = a;",
        (0, 0, 0, 0),
        (51, 2, 1, 0),
        declarations=(
            "header f_t { bit<32> x; } bit<32> g(inout bit<32> i) { i = 1; return 50; } "
            "void upd(inout bit<32> x, in bit<32> i) { x = x + i; }"
        ),
    ),
    Case(
        "short circuit",
        ("p = (bit<32>)(bit<1>)(a == 0 && set(b)); q = b; r = (bit<32>)(bit<1>)(a == 0 || set(c)); s = c;"),
        (1, 0, 0, 0),
        (0, 0, 1, 1),
        declarations="bool set(inout bit<32> x) { x = 1; return true; }",
    ),
    Case(
        "one branch of a conditional",
        "p = a == 0 ? inc(b) : inc(c); q = b; r = c;",
        (1, 0, 0, 0),
        (1, 0, 1, 0),
        declarations="bit<32> inc(inout bit<32> i) { i = i + 1; return i; }",
    ),
    Case(
        "constructors' parameters",
        "cc.apply(p, a); dd.apply(q, a);",
        (1, 2, 0, 0),
        (9, 12, 0, 0),
        declarations=(
            "control K(inout bit<32> x, in bit<32> y)(int n, bit<32> m) { apply { x = y + n; "
            "x = x + m; if (m == 4 && n > 6) { } } }"
        ),
        local="K(5, 3) cc; K(7, 4) dd;",
    ),
    Case(
        "structs and tuples as results",
        "T x = mk(a, b); p = x.x; q = mk(b, a).x; r = tup(a)[1];",
        (1, 2, 0, 0),
        (1, 2, 1, 0),
        declarations=(
            "struct T { bit<32> x; bit<32> y; } T mk(in bit<32> x, in bit<32> y) { return { "
            "y = y, x = x }; } tuple<bit<8>, bit<32>> tup(in bit<32> v) { return { 1, v }; }"
        ),
    ),
    Case(
        "a control with type parameters",
        "gg.apply(p, a);",
        (4, 2, 0, 0),
        (4, 0, 0, 0),
        declarations="control G<T>(inout T x, in T y)() { apply { x = y; } }",
        local="G<bit<32>>() gg;",
    ),
    Case(
        "stacks as parameters and results",
        (
            "S s_ = { {{1},{2},{3}}, 7}; f(s_.k); p = (bit<32>)s_.k[0].z; q = (bit<32>)s_.k[2].z; "
            "r = g(s_)[1]; H[3] w = h(); s = (bit<32>)w[2].z;"
        ),
        (0, 5, 0, 0),
        (9, 3, 7, 4),
        declarations=(
            "header H { bit<8> z; } struct S { H[3] k; bit<32> n; } void f(inout H[3] k) { k[0] = {9}; "
            "} tuple<bool,bit<32>> g(in S s) { return {true, s.n}; } H[3] h() { H[3] r = { "
            "{1}, {#}, {4} }; return r; }"
        ),
    ),
    Case(
        "generic functions that call generic ones",
        "p = outer(a, b); q = outer(8w3, 8w4) == 3 ? 32w1 : 0;",
        (5, 6, 0, 0),
        (5, 1, 0, 0),
        declarations=(
            "T inner<T>(in T x, in T y) { return x; } T outer<T>(in T x, in T y) { T z = inner(x, y); "
            "return inner<T>(z, y); }"
        ),
    ),
    Case(
        "a list for a constructor",
        "cc.apply(p);",
        (0, 0, 0, 0),
        (123, 0, 0, 0),
        declarations=(
            "control L(inout bit<32> x)(list<bit<32>> l) { apply { for (bit<32> v in l) { x = x * 10 + v; } } }"
        ),
        local="L((list<bit<32>>){1,2,3}) cc;",
    ),
    Case(
        "a string for a constructor",
        "cc.apply(p);",
        (0, 0, 0, 0),
        (1, 0, 0, 0),
        declarations='control L(inout bit<32> x)(string l) { apply { log_msg("x" ++ l); x = 1; } }',
        local='L("abc") cc;',
    ),
    Case(
        "a control's headers start invalid each time",
        "c1.apply(p); c1.apply(q);",
        (1, 2, 3, 4),
        (1, 1, 0, 0),
        declarations=(
            "header H { bit<8> z; } control Q(inout bit<32> x) { H h; apply { if (!h.isValid()) { "
            "x = 1; } h.setValid(); } }"
        ),
        local="Q() c1;",
    ),
    Case(
        "a local that hides a parameter",
        "p = f(3);",
        (1, 2, 3, 4),
        (7, 0, 0, 0),
        declarations="bit<32> f(in bit<32> x) { bit<32> y = x; { bit<32> x = 4; y = y + x; } return y; }",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_calls(case: Case) -> None:
    assert ask(case) == case.expected
