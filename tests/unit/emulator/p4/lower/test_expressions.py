"""Expressions: operators, slices, initialisers (section 8); each piece of P4 runs on both engines."""

from __future__ import annotations

import pytest

from tests.programs.run import Case, ask

CASES = [
    Case(
        "slices at run-time places",
        ("p = (bit<32>)a[b[4:0] +: 8]; q = a; q[c[4:0] +: 8] = 0xff; s = a; s[d[7:0] +: 16] = 0x1234;"),
        (0xDEADBEEF, 8, 4, 24),
        (190, 0xDEADBFFF, 0, 0x34ADBEEF),
    ),
    Case(
        "assignment with an operator",
        "a += 1; b |+|= 0xffffffff; c <<= 4; p = a; q = b; r = c; d[7:0] += 1; s = d;",
        (1, 2, 3, 511),
        (2, 0xFFFFFFFF, 48, 256),
    ),
    Case(
        "the target is evaluated once",
        ("f_t[2] k; k[0].setValid(); k[1].setValid(); k[inc(a)].x += 5; p = a; q = k[0].x; r = k[1].x;"),
        (0, 0, 0, 0),
        (1, 0, 5, 0),
        declarations="header f_t { bit<32> x; } bit<32> inc(inout bit<32> i) { i = i + 1; return i; }",
    ),
    Case(
        "default values",
        (
            "S s0 = ...; S s1 = { 1, ... }; S s2 = { b = true, ... }; p = s0.x; q = s1.x; "
            "r = (bit<32>)(bit<1>)s2.b; H h = { ... }; H h2 = ...; "
            "s = (bit<32>)((bit<1>)h.isValid() ++ (bit<1>)h2.isValid());"
        ),
        (3, 0, 0, 0),
        (0, 1, 1, 2),
        declarations="struct S { bit<32> x; bool b; } header H { bit<8> z; }",
    ),
    Case(
        "whole values in a conditional",
        (
            "S s_ = a == 1 ? (S){1,2} : {3,4}; p = s_.x; q = s_.y; H h = a == 1 ? {#} : (H){8}; "
            "r = (bit<32>)(bit<1>)h.isValid();"
        ),
        (5, 0, 0, 0),
        (3, 4, 1, 0),
        declarations="struct S { bit<32> x; bit<32> y; } header H { bit<8> z; }",
    ),
    Case(
        "slices of int",
        "p = 28w0 ++ (0xabc)[7:4]; q = (-1)[3:0] ++ 28w0;",
        (5, 0, 0, 0),
        (11, 0xF0000000, 0, 0),
    ),
    Case(
        "saturation",
        (
            "p = (bit<32>)(8w250 |+| 10); int<8> i = -100; i = i |-| 100; q = (bit<32>)(bit<8>)i; "
            "bit<8> u = a[7:0] |-| 200; r = (bit<32>)u;"
        ),
        (5, 6, 0, 0),
        (255, 128, 0, 0),
    ),
    Case(
        "shifts beyond the width",
        ("p = a << 40; q = (bit<32>)(a >> 32); int<32> i = (int<32>)b; r = (bit<32>)(i >> 40); s = a << b[7:0];"),
        (1, -1, 0, 0),
        (0, 0, 0xFFFFFFFF, 0),
    ),
    Case(
        "signed numbers",
        (
            "int<8> x = (int<8>)(bit<8>)a[7:0]; int<8> y = -x; p = (bit<32>)(bit<8>)y; "
            "q = (bit<32>)(bit<1>)(x < 0); int<16> w = (int<16>)x; r = (bit<32>)(bit<16>)w; x = x * x; "
            "s = (bit<32>)(bit<8>)x;"
        ),
        (128, 0, 0, 0),
        (128, 1, 0xFF80, 0),
    ),
    Case(
        "the left operand gives the sign",
        (
            "int<8> x = -1; bit<8> y = 1; int<16> z = x ++ y; p = (bit<32>)(bit<16>)z; "
            "bit<16> w = y ++ x; q = (bit<32>)w;"
        ),
        (0, 0, 0, 0),
        (0xFF01, 511, 0, 0),
    ),
    Case(
        "static_assert and concatenated strings",
        'static_assert(W == 8, "x" ++ "y"); const bool b_ = static_assert(W > 2); p = 1;',
        (0, 0, 0, 0),
        (1, 0, 0, 0),
        declarations="const int W = 8;",
    ),
    Case(
        "a struct made of its own fields",
        ("T x = { a, b }; x = { x.y, x.x }; p = x.x; q = x.y; x = { y = x.x, x = x.y }; r = x.x; s = x.y;"),
        (1, 2, 0, 0),
        (2, 1, 1, 2),
        declarations="struct T { bit<32> x; bit<32> y; }",
    ),
    Case(
        "a header made of its own fields",
        "T x = { a, b }; x = { x.y, x.x }; p = x.x; q = x.y;",
        (1, 2, 0, 0),
        (2, 1, 0, 0),
        declarations="header T { bit<32> x; bit<32> y; }",
    ),
    Case(
        "2,048 bits",
        "bit<2048> x = 1; x = x << 2047; p = x[2047:2016]; int<256> y = -1; q = y[255:224];",
        (4, 2, 0, 0),
        (0x80000000, 0xFFFFFFFF, 0, 0),
    ),
    Case(
        "a constant tuple in a list",
        "hash(p, HashAlgorithm.crc32, 32w0, { a, T2 }, 32w0xffffffff); p = 1;",
        (10, 0, 0, 0),
        (1, 0, 0, 0),
        declarations="const tuple<bit<8>, bit<8>> T2 = {1, 2};",
    ),
    Case(
        "literals of all bases",
        (
            "p = 28w0 ++ (bit<4>)(8s1[3:0]); int<8> k = -8s1; q = (bit<32>)(bit<8>)k; "
            "r = 0b1010 + 0o17 + 0xFF_00; s = 32w5 ++ 0w0;"
        ),
        (1, 0, 0, 0),
        (1, 255, 0xFF19, 5),
    ),
    Case(
        "slices of expressions and of slices",
        "p = 24w0 ++ (a + b)[7:0]; q = 28w0 ++ a[7:0][5:2]; r = (bit<32>)(a[0:0] == 1 ? 8w1 : 2);",
        (255, 1, 0, 0),
        (0, 15, 1, 0),
    ),
    Case(
        "push_front and pop_front",
        (
            "S[4] st; for (bit<8> i in 0..3) { st[i] = { i }; } st.push_front(1); "
            "p = (bit<32>)st[3].z; st.pop_front(2); q = (bit<32>)st[1].z; "
            "r = (bit<32>)(bit<1>)st[2].isValid();"
        ),
        (5, 6, 0, 0),
        (2, 2, 0, 0),
        declarations="header S { bit<8> z; }",
    ),
    Case(
        "an index beyond the stack",
        ("S[2] st; st[a] = {1}; p = (bit<32>)st[a].z; q = (bit<32>)(bit<1>)st[a].isValid(); r = (bit<32>)st[0].z;"),
        (5, 6, 0, 0),
        (0, 0, 0, 0),
        declarations="header S { bit<8> z; }",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_expressions(case: Case) -> None:
    assert ask(case) == case.expected
