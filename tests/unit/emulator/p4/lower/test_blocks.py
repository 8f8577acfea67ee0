"""Controls: instances with constructor and type parameters, nested and passed on; run on both engines."""

# ruff: noqa: E501 (a program on one line reads better than one that is folded)
from __future__ import annotations

import pytest

from emulator.p4.errors import CompileError
from tests.programs.ask import ask
from tests.programs.run import Piece, around

ADDER = """
control Add(inout bit<32> v)(bit<32> n) { apply { v = v + n; } }
control Twice(inout bit<32> v)(Add inner) { apply { inner.apply(v); inner.apply(v); } }
control Count(inout bit<32> v) { register<bit<32>>(1) r; apply { r.read(v, 0); v = v + 1; r.write(0, v); } }
control Swap<T>(inout T x, inout T y) { T z = x; apply { z = x; x = y; y = z; } }
control Choose(inout bit<32> v)(bool up, bit<32> by) { apply { if (up) { v = v + by; } else { v = v - by; } } }
control Nest(inout bit<32> v)(bit<32> n) { Add(n + 1) add; Choose(n == 3, n) choose; apply { add.apply(v); choose.apply(v); } }
"""

INSTANCES = {
    "several": ("Add(5) one; Add(7) two;", "p = a; one.apply(p); q = a; two.apply(q);", (10,), (15, 17, 0, 0)),
    "applied again": ("Add(5) one;", "p = a; one.apply(p); one.apply(p); q = b; one.apply(q);", (10, 1), (20, 6, 0, 0)),
    "passed to a constructor": ("Add(3) three; Twice(three) t;", "p = a; t.apply(p);", (10,), (16, 0, 0, 0)),
    "made for a constructor": ("Twice(Add(4)) t;", "p = a; t.apply(p);", (10,), (18, 0, 0, 0)),
    "passed twice": (
        "Add(3) x; Twice(x) t; Twice(x) u;", "p = a; t.apply(p); u.apply(p); x.apply(p);", (10,), (25, 0, 0, 0)),
    "nested deeper": ("Nest(3) n; Nest(4) m;", "p = a; n.apply(p); q = a; m.apply(q);", (100,), (107, 101, 0, 0)),
    "values known when made": ("Choose(true, 2) up; Choose(false, 3) down;", "p = a; up.apply(p); q = a; down.apply(q);",
                               (10,), (12, 7, 0, 0)),
    "of a type parameter": ("Swap<bit<32>>() swap;", "p = a; q = b; swap.apply(p, q);", (1, 2), (2, 1, 0, 0)),
    "named arguments": ("Choose(by = 9, up = true) choose;", "p = a; choose.apply(v = p);", (1,), (10, 0, 0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", INSTANCES)
def test_instances(name: str) -> None:
    local, apply, given, found = INSTANCES[name]
    assert ask(apply, *given, local=local, declarations=ADDER) == found


def test_a_generic_control_for_headers_and_numbers() -> None:
    apply = "p = a; q = b; s.apply(p, q); g_t x = { c }; g_t y = { d }; h.apply(x, y); r = x.v; s = y.v;"
    local = "Swap<bit<32>>() s_; Swap<g_t>() h;"
    found = ask(
        apply.replace("s.apply", "s_.apply"), 1, 2, 3, 4, local=local,
        declarations="header g_t { bit<32> v; }\n" + ADDER,
    )  # fmt: skip
    assert found == (2, 1, 4, 3)


def test_direct_application_makes_an_instance_of_its_own_each_time() -> None:
    assert ask("Count.apply(p); Count.apply(q); Count.apply(q);", declarations=ADDER) == (1, 1, 0, 0)


def test_an_instance_keeps_its_state_between_packets_and_calls() -> None:
    piece = Piece(around("n.apply(p); if (a == 1) { n.apply(q); }", local="Count() n;", declarations=ADDER))
    assert piece(1) == (1, 2, 0, 0)
    assert piece(0) == (3, 0, 0, 0)


def test_what_is_applied_has_a_name() -> None:
    """A constructor's call is not an l-value, so no statement of the grammar applies it."""
    with pytest.raises(CompileError, match="declare it, then apply that"):
        ask("p = a; Add(5).apply(p);", 1, declarations=ADDER)


def test_direct_application_of_a_generic_control() -> None:
    assert ask("p = a; q = b; Swap<bit<32>>.apply(p, q);", 1, 2, declarations=ADDER) == (2, 1, 0, 0)


TABLED = """
control Look(in bit<32> key, inout bit<32> found)(bit<32> bonus) {
    action take(bit<32> v) { found = v + bonus; }
    table t { key = { key: exact; } actions = { take; NoAction; } default_action = take(1);
              const entries = { 1: take(10); 2: take(20); } }
    apply { t.apply(); }
}
control Outer(in bit<32> key, inout bit<32> found) { Look(100) look; apply { look.apply(key + 1, found); } }
"""


def test_a_table_applied_in_several_places_with_different_arguments() -> None:
    apply = "l.apply(a, p); l.apply(b, q); if (c == 1) { l.apply(c + 1, r); }"
    assert ask(apply, 1, 2, 1, local="Look(0) l;", declarations=TABLED) == (10, 20, 20, 0)


def test_a_table_in_a_control_that_is_applied_twice_through_another() -> None:
    assert ask("o.apply(a, p); o.apply(b, q);", 0, 1, local="Outer() o;", declarations=TABLED) == (110, 120, 0, 0)


def test_each_instance_has_a_table_of_its_own() -> None:
    apply = "one.apply(a, p); two.apply(a, q);"
    assert ask(apply, 1, local="Look(0) one; Look(5) two;", declarations=TABLED) == (10, 15, 0, 0)


def test_actions_with_parameters_of_every_direction() -> None:
    local = """action act(in bit<32> x, out bit<32> y, inout bit<32> z, bit<32> w) { y = x + w; z = z + x; }
    table t { key = { a_: exact; } actions = { act(given_, hdr.found.q, hdr.found.r); }
              const default_action = act(given_, hdr.found.q, hdr.found.r, 7);
              const entries = { 1: act(100); } }"""
    text = around("", local="bit<32> a_ = hdr.given.a; bit<32> given_ = hdr.given.b;\n" + local)
    text = text.replace(
        "hdr.found = { p, q, r, s };",
        "hdr.found.p = 0; hdr.found.r = 3; t.apply(); act(4, hdr.found.s, hdr.found.p, 2);",
    )
    piece = Piece(text)
    assert piece(1, 5) == (4, 105, 8, 6)
    assert piece(2, 5) == (4, 12, 8, 6)


def test_one_action_bound_differently_by_two_tables() -> None:
    local = """action put(inout bit<32> to, bit<32> v) { to = v; }
    table t { key = { x: exact; } actions = { put(p_); } default_action = put(p_, 1); const entries = { 5: put(50); } }
    table u { key = { x: exact; } actions = { put(q_); } default_action = put(q_, 2); const entries = { 5: put(60); } }"""
    text = around("x = a; t.apply(); u.apply(); p = p_; q = q_;", local="bit<32> x; bit<32> p_; bit<32> q_;\n" + local)
    piece = Piece(text)
    assert piece(5) == (50, 60, 0, 0)
    assert piece(6) == (1, 2, 0, 0)


def test_hit_miss_and_action_run_in_conditions() -> None:
    local = """action one() { } action two(bit<32> v) { got = v; }
    table t { key = { x: exact; } actions = { one; two; } default_action = one(); const entries = { 5: two(50); } }"""
    apply = """x = a;
    if (t.apply().hit) { p = 1; } else { p = 2; }
    x = b;
    if (!t.apply().miss && c == 1) { q = got; }
    switch (t.apply().action_run) { one: { r = 1; } two: { r = 2; } }"""
    piece = Piece(around(apply, local="bit<32> x; bit<32> got;\n" + local))
    assert piece(5, 5, 1) == (1, 50, 2, 0)
    assert piece(1, 1, 1) == (2, 0, 1, 0)


def test_externs_passed_to_constructors_are_shared() -> None:
    declarations = """control Bump(inout bit<32> v)(register<bit<32>> r) {
        apply { r.read(v, 3); v = v + 1; r.write(3, v); }
    }
    register<bit<32>>(8) top;
    control Own(inout bit<32> v)(register<bit<32>> r) { Bump(r) b; apply { b.apply(v); } }
    """
    local = (
        "register<bit<32>>(8) mine; Bump(mine) one; Own(mine) two; Bump(top) three; Bump(register<bit<32>>(4)) four;"
    )
    apply = "one.apply(p); two.apply(q); three.apply(r); four.apply(s);"
    assert ask(apply, local=local, declarations=declarations) == (1, 2, 1, 1)


def test_exit_in_a_sub_control_leaves_the_block_after_copying_out() -> None:
    declarations = "control Stop(inout bit<32> v) { apply { v = 9; if (v == 9) { exit; } v = 1; } }\n"
    text = around("p = 1; Stop.apply(hdr.found.p);", declarations=declarations)
    text = text.replace("hdr.found = { p, q, r, s };", "hdr.found.p = 77;")
    assert Piece(text)()[0] == 9
