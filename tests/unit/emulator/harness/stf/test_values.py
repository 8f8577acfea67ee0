"""Digits to matches, and names to the program's: p4c's rules and ours."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from emulator.harness.stf import syntax as s
from emulator.harness.stf.errors import StfError
from emulator.harness.stf.names import Names, find
from emulator.harness.stf.values import field_match
from emulator.switch.control import Exact, FieldMatch, Lpm, Optional, Range, Ternary
from emulator.v1model.control_view import ArrayView, KeyView, TableView


def match(kind: str, width: int, value: str, **rest: str) -> FieldMatch | None:
    return field_match(s.Match(1, "k", value, **rest), KeyView(1, "k", width, kind))


@pytest.mark.parametrize(
    ("kind", "width", "value", "rest", "expected"),
    [
        ("exact", 8, "255", {}, Exact(1, 255)),
        ("exact", 8, "0x0ff", {}, Exact(1, 255)),
        ("exact", 9, "0x3ff", {}, Exact(1, 0x1FF)),
        ("ternary", 16, "0x12", {}, Ternary(1, 0x12, 0xFF)),
        ("ternary", 16, "0x1*2", {}, Ternary(1, 0x102, 0xF0F)),
        ("ternary", 8, "0b1*0*", {}, Ternary(1, 0b1000, 0b1010)),
        ("ternary", 8, "0x**", {}, None),
        ("ternary", 8, "0x123", {}, Ternary(1, 0x23, 0xFF)),
        ("ternary", 16, "5", {"mask": "0xf"}, Ternary(1, 5, 15)),
        ("ternary", 16, "0xff", {"mask": "0x0f"}, Ternary(1, 15, 15)),
        ("ternary", 16, "5", {"mask": "0"}, None),
        ("lpm", 32, "0x0a000000", {"length": "8"}, Lpm(1, 0x0A000000, 8)),
        ("lpm", 32, "0x0a0000ff", {"length": "8"}, Lpm(1, 0x0A000000, 8)),
        ("lpm", 32, "7", {"length": "0"}, None),
        ("lpm", 32, "0x0a00****", {}, Lpm(1, 0x0A000000, 16)),
        ("lpm", 32, "0x0a01", {}, Lpm(1, 0, 16)),
        ("lpm", 8, "0b101*****", {}, Lpm(1, 0b10100000, 3)),
        ("lpm", 8, "0x**", {}, None),
        ("optional", 16, "0x0800", {}, Optional(1, 0x800)),
        ("optional", 16, "2048", {}, Optional(1, 2048)),
        ("optional", 16, "0x**", {}, None),
        ("optional", 16, "0x12", {}, Ternary(1, 0x12, 0xFF)),
        ("range", 8, "1", {"high": "0x10"}, Range(1, 1, 16)),
        ("range", 8, "7", {}, Range(1, 7, 7)),
        ("range", 8, "0", {"high": "255"}, None),
    ],
)
def test_digits_to_matches(
    kind: str, width: int, value: str, rest: dict[str, str], expected: FieldMatch | None
) -> None:
    assert match(kind, width, value, **rest) == expected


@pytest.mark.parametrize(
    ("kind", "value", "rest", "part"),
    [
        ("exact", "0x1*", {}, "'*' has no meaning"),
        ("exact", "256", {}, "larger than its 8 bits"),
        ("exact", "1", {"length": "4"}, "an exact key takes one number"),
        ("ternary", "1", {}, "not a plain decimal"),
        ("ternary", "1", {"length": "1"}, "a ternary key takes"),
        ("lpm", "1", {}, "an lpm key takes VALUE/LENGTH"),
        ("lpm", "0x*1", {}, "an lpm key takes"),
        ("lpm", "0x10", {"length": "9"}, "a prefix of 9 bits, and the key has 8"),
        ("range", "5", {"high": "4"}, "is empty"),
        ("range", "5", {"mask": "4"}, "a range key takes"),
        ("optional", "5", {"high": "4"}, "an optional key takes"),
    ],
)
def test_what_a_key_does_not_take(kind: str, value: str, rest: dict[str, str], part: str) -> None:
    with pytest.raises(StfError) as caught:
        match(kind, 8, value, **rest)
    assert part in str(caught.value)


def cell(name: str) -> ArrayView:
    return ArrayView(1, name, 1, 8)


def test_a_name_is_whole_or_the_only_suffix() -> None:
    cells = [cell("ingress.my_t1"), cell("egress.t2"), cell("t2"), cell("x.c"), cell("y.c")]
    assert find(1, "counter", "t1", cells) is cells[0]
    assert find(1, "counter", "t2", cells) is cells[2]
    with pytest.raises(StfError, match=r"'c' is the end of x\.c and y\.c"):
        find(1, "counter", "c", cells)
    with pytest.raises(StfError, match=r"no counter 'z'; there are: ingress\.my_t1, egress"):
        find(1, "counter", "z", cells)


def key_of(keys: tuple[KeyView, ...], text: str) -> KeyView:
    table = cast(TableView, SimpleNamespace(name="t", keys=keys))
    return Names.key(object.__new__(Names), 1, table, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hdr.h.f", "hdr.h.f"),
        ("f", "hdr.g.f"),
        ("h.f", "hdr.h.f"),
        ("hdr.s$1.x", "hdr.s[1].x"),
        ("hdr.s[1].x", "hdr.s[1].x"),
        ("hdr.h", "hdr.h.$valid$"),
        ("hdr.h.valid", "hdr.h.$valid$"),
        ("h.valid", "hdr.h.$valid$"),
        ("valid", "hdr.g.$valid$"),
        ("odd", "hdr.odd$"),
    ],
)
def test_the_rules_for_keys(text: str, expected: str) -> None:
    names = ("hdr.h.f", "hdr.g.f", "hdr.s[1].x", "hdr.h.$valid$", "hdr.g.$valid$", "hdr.odd$")
    keys = tuple(KeyView(i, name, 8, "exact") for i, name in enumerate(names))
    assert key_of(keys, text).name == expected


def test_an_unknown_key_names_those_there_are() -> None:
    with pytest.raises(StfError, match=r"table t has no key 'c'; its keys: a\.b"):
        key_of((KeyView(1, "a.b", 8, "exact"),), "c")
