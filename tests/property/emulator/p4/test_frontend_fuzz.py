"""Damaged programs, and programs made to blow a compiler up: always an error or a program, never anything else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.p4.lower import context
from emulator.p4.preprocess import macros as preprocess_macros
from tests.programs.text import program
from tests.soaks.p4_fuzz import damaged, outcome, sources

TEXTS = sources()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32))
def test_damaged_programs(seed: int) -> None:
    assert outcome(damaged(random.Random(seed), TEXTS)) in ("error", "program")


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_any_text(text: str) -> None:
    assert outcome(text + "\n") == "error"


@settings(max_examples=60, deadline=None)
@given(st.binary())
def test_any_bytes(content: bytes) -> None:
    assert outcome(content.decode("utf-8", "surrogateescape") + "\n") == "error"


def doubling(first: str, following: str, count: int = 40) -> str:
    """``first``, then ``following`` with each number ``{i}`` and the one before it ``{j}``."""
    return first + "".join(following.format(i=i, j=i - 1) for i in range(1, count + 1))


@pytest.mark.parametrize(
    "text",
    [
        doubling("#define A0 1\n", "#define A{i} A{j} + A{j}\n") + "const int k = A40;",
        doubling("const int a0 = 1 << 2000;\n", "const int a{i} = a{j} * a{j};\n"),
        program(
            declarations=doubling("struct s0 { bit<8> a; }\n", "struct s{i} {{ s{j} a; s{j} b; }}\n"),
            local="s40 v;",
        ),
        program(
            declarations=doubling(
                "control C0() { apply { } }\n",
                "control C{i}() {{ C{j}() a; C{j}() b; apply {{ a.apply(); b.apply(); }} }}\n",
            ),
            local="C40() c;",
            apply="c.apply();",
        ),
        program(
            declarations=doubling(
                "bit<8> f0(in bit<8> x) { return x; }\n", "bit<8> f{i}(in bit<8> x) {{ return f{j}(x) + f{j}(x); }}\n"
            ),
            apply="meta.m8 = f40(meta.m8);",
        ),
    ],
    ids=["macros", "numbers", "structs", "controls", "functions"],
)
def test_what_doubles_is_bounded(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preprocess_macros, "MAX_WORK", 1 << 12)
    monkeypatch.setattr(context, "MAX_WRITTEN_OUT", 1 << 10)
    assert outcome(text + "\n") == "error"


@pytest.mark.parametrize(
    "opening",
    ["(", "{", "~", "-", "if (meta.flag) ", pytest.param("meta.flag ? 1 : ", marks=pytest.mark.slow), "1 + ", "{ "],
)
def test_deep_nesting(opening: str) -> None:
    complete = opening in ("-", "1 + ")  # the others lack what closes them
    assert outcome(program(apply=f"meta.m8 = {opening * 5000}1;")) == ("program" if complete else "error")
    assert outcome(program(apply=opening * 5000)) == "error"


@pytest.mark.parametrize("opening", ['"', "/*"])
def test_what_is_never_closed_takes_the_rest_once(opening: str) -> None:
    assert outcome(f"const bit<8> x = {opening}\n" + "#if 1\n" * 20000) == "error"


@pytest.mark.parametrize("number", [1 << 31, 1 << 63, 1 << 200])
@pytest.mark.parametrize(
    "text",
    [
        "register<bit<8>>({}) r;", "counter({}, CounterType.bytes) c;",
        "table t {{ actions = {{ NoAction; }} size = {}; }} apply {{ t.apply(); }}", "bit<({})> x;", "one_t[{}] s;",
        "const bit<8> k = 1 << {};", "action a() {{ meta.m8 = meta.m8 << {}; }}",
    ],
)  # fmt: skip
def test_large_numbers(text: str, number: int) -> None:
    local = text.format(number)
    apply = "" if "apply {" not in local else "t.apply();"
    assert outcome(program(local=local.replace(" apply { t.apply(); }", ""), apply=apply)) in ("error", "program")
