"""Statements: loops, switch, scopes (section 12); each piece of P4 runs on both engines."""

from __future__ import annotations

import pytest

from tests.programs.run import Case, ask

CASES = [
    Case(
        "for",
        "for (bit<32> i = 0; i < 5; i += 1) { p = p + i; }",
        (0, 0, 0, 0),
        (10, 0, 0, 0),
    ),
    Case(
        "ranges up to the last number of the type",
        (
            "for (bit<8> i in 250..255) { p = p + (bit<32>)i; } for (int<4> i in -8..7) {q = q + 1;} "
            "for (bit<8> i in 5..4) {r = 1;}"
        ),
        (0, 0, 0, 0),
        (0x5EB, 16, 0, 0),
    ),
    Case(
        "lists are evaluated before the first turn",
        (
            "for (bit<32> i in (list<bit<32>>){a, 2, 3}) { p = p * 10 + i; a = 7; } "
            "for (bit<32> i in {4,5}) { if (i==5) break; q = i; }"
        ),
        (1, 0, 0, 0),
        (123, 4, 0, 0),
    ),
    Case(
        "continue and break",
        ("for (bit<32> i = 0; i < 10; i = i + 1) { if (i[0:0] == 1) continue; if (i > 6) break; p = p + i; }"),
        (0, 0, 0, 0),
        (12, 0, 0, 0),
    ),
    Case(
        "loops in loops",
        ("for (bit<32> i in 1..3) { for (bit<32> j in 1..i) { if (j == 2) continue; p = p + 10*i + j; } }"),
        (0, 0, 0, 0),
        (96, 0, 0, 0),
    ),
    Case(
        "a condition with side effects",
        "for (; nxt(p) < 4; ) { q = q + 1; }",
        (4, 2, 0, 0),
        (4, 3, 0, 0),
        declarations="bit<32> nxt(inout bit<32> x) { x = x + 1; return x; }",
    ),
    Case(
        "switch on numbers and enums",
        (
            "switch (a) { 1: { p = 1; } 2: 3: { p = 2; } default: { p = 9; } } switch (X.k2) { X.k1: { "
            "q = 1; } X.k2: { q = 2; } } r = fs(a);"
        ),
        (3, 0, 0, 0),
        (2, 2, 30, 0),
        declarations=(
            "enum X { k1, k2 } bit<32> fs(in bit<32> v) { switch (v) { 3: { return 30; } default: { return 1; } } }"
        ),
    ),
    Case(
        "inner names hide outer ones",
        ("bit<32> x = 1; { bit<32> x = x + 1; p = x; } q = x; for (bit<32> x in 5..5) { r = x; } s = x;"),
        (1, 2, 0, 0),
        (2, 1, 5, 1),
    ),
    Case(
        "if, else and the empty statement",
        "if (a == 1) ; else { p = 1; } if (a == 0) if (b == 0) q = 1; else q = 2;",
        (0, 5, 0, 0),
        (1, 2, 0, 0),
    ),
    Case(
        "labels that fall through",
        ("switch (a) { 0: 1: { p = 1; } 2: { p = 2; } 3: } switch ((bit<4>)b[3:0]) { default: { q = 7; } }"),
        (3, 2, 3, 4),
        (0, 7, 0, 0),
    ),
    Case(
        "labels that are negative",
        (
            "int<8> k = (int<8>)(bit<8>)a[7:0]; switch (k) { -1: { p = 1; } 5: { p = 2; } } "
            "switch (e) { F.b: { q = 2; } F.a: { q = 1; } }"
        ),
        (255, 2, 3, 4),
        (1, 2, 0, 0),
        declarations="enum int<8> F { a = -3, b = -2 }",
        local="F e = F.b;",
    ),
    Case(
        "exit from a loop",
        "for (bit<32> i in 0..9) { hdr.found.p = i; if (i == 4) { exit; } }",
        (255, 2, 3, 4),
        (4, 0, 0, 0),
    ),
    Case(
        "return from a loop",
        "run(p);",
        (255, 2, 3, 4),
        (5, 0, 0, 0),
        local=("action run(inout bit<32> x) { for (bit<32> i in 0..9) { x = i; if (i == 5) { return; } } x = 100; }"),
    ),
    Case(
        "a loop down to zero",
        "for (int<8> i = 5; i >= 0; i = i - 1) { p = p + 1; }",
        (0, 0, 0, 0),
        (6, 0, 0, 0),
    ),
    Case(
        "several variables in a loop",
        "for (bit<32> i = 0, bit<32> j = 10; i < j; i = i + 1, j = j - 1) { p = i; q = j; }",
        (0, 0, 0, 0),
        (4, 6, 0, 0),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_statements(case: Case) -> None:
    assert ask(case) == case.expected
