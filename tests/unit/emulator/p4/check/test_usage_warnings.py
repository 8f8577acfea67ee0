"""Warnings: what is never used, hides something, is read before it has a value, is cut; legal uses get none."""

from __future__ import annotations

import pytest

from emulator.p4.frontend import run_stages
from emulator.v1model.architecture import V1MODEL
from tests.programs.text import line_of, program

DECLARATIONS = "void give(out bit<8> x) { x = 1; }\nvoid add(inout bit<8> x) { x = x + 1; }\n"
USE = "bit<8> g = 0; add(g); give(g); meta.m8 = g;\n"
WARNED = [
    ("'x' is read before it has a value", "bit<8> x; meta.m8 = /*!*/x;"),
    ("'x' is read before it has a value", "bit<8> x; x = /*!*/x + 1;"),
    ("'x' is read before it has a value", "bit<8> x; add(/*!*/x);"),
    ("'x' is read before it has a value", "bit<8> x; if (meta.flag) { meta.m8 = /*!*/x; } else { x = 1; }"),
    ("'x' is read before it has a value", "bit<8> x; for (bit<8> i in 0..3) { meta.m8 = /*!*/x; x = i; }"),
    ("'x' is never used", "bit<8> /*!*/x = 1;"),
    ("300 does not fit in bit<8>", "meta.m8 = /*!*/300;"),
    ("-1 does not fit in bit<8>", "meta.m8 = /*!*/-1;"),
    ("'g' hides the one", "{ bit<8> /*!*/g = 1; meta.m8 = g; }"),
    ("'meta' hides the one", "bit<8> /*!*/meta = 1; add(meta);"),
    ("write parentheses", "meta.flag = meta.flag ? true : meta.flag /*!*/? false : true;"),
    ("leaves no bit of it", "meta.m8 = meta.m8 << /*!*/8;"),
]
SILENT = [
    "bit<8> x; give(x); meta.m8 = x;",
    "bit<8> x; if (meta.flag) { x = 1; } meta.m8 = x;",
    "bit<8> x; for (bit<8> i in 0..3) { x = i; } meta.m8 = x;",
    "bit<8> x; switch (meta.m8) { 1: { x = 1; } default: { x = 2; } } meta.m8 = x;",
    "bit<8> x; x[3:0] = 1; meta.m8 = x;",
    "one_t h; meta.flag = h.isValid();",
    "inner_t s; s.p = 1; meta.m8 = s.p;",
    "{ bit<8> x = 1; meta.m8 = x; } { bit<8> x = 2; meta.m8 = x; }",
    "meta.s8 = -128; meta.m8 = 255; meta.m8 = meta.m8 << 7;",
]


def warnings_of(source: str) -> list[tuple[int, int, str]]:
    _, diagnostics = run_stages(source.replace("/*!*/", "     "), architecture=V1MODEL, until="check")
    return [(w.span.line, w.span.column, w.message) for w in diagnostics.warnings]


@pytest.mark.parametrize(("text", "piece"), WARNED)
def test_warned(text: str, piece: str) -> None:
    source = program(declarations=DECLARATIONS, apply=USE + piece)
    line, column = line_of(source)
    found = warnings_of(source)
    assert [(line, column) for *_, message in found if text in message] == [(line, column)]
    assert any((a, b) == (line, column) and text in message for a, b, message in found)


@pytest.mark.parametrize("piece", SILENT)
def test_silent(piece: str) -> None:
    assert warnings_of(program(declarations=DECLARATIONS, apply=USE + piece)) == []


def test_functions_of_one_name_are_used_each_for_itself() -> None:
    one = "bit<8> f(in bit<8> x) { return x; }\n"
    two = "bit<8> f(in bit<8> x, in bit<8> y) { return x + y; }\n"
    both = warnings_of(program(declarations=one + two, apply="meta.m8 = f(1) + f(2, 3);"))
    first = warnings_of(program(declarations=one + two, apply="meta.m8 = f(1);"))
    assert both == []
    assert [message for *_, message in first] == ["'f' is never used"]


def test_unused_declarations() -> None:
    source = program(
        declarations="bit<8> never(in bit<8> x) { return x; }\n",
        local="""action lonely() { }
        @noWarn("unused") action spared() { }
        action listed() { }
        table unapplied { actions = { listed; } default_action = listed(); }
        table applied { actions = { NoAction; } }""",
        apply="applied.apply();",
    )
    assert sorted(message for *_, message in warnings_of(source)) == [
        "'lonely' is never used", "'never' is never used", "'unapplied' is never used",
    ]  # fmt: skip
