"""Characters to tokens."""

from __future__ import annotations

import pytest

from emulator.p4.errors import Diagnostics
from emulator.p4.preprocess.preprocessor import Preprocessor
from emulator.p4.syntax.lexer import integer_value, kind_of, p4_pieces

INTEGERS = {
    "0": (0, None, False),
    "1_000_000": (1000000, None, False),
    "0xFf_0": (0xFF0, None, False),
    "0X1f": (31, None, False),
    "0b1010": (10, None, False),
    "0o17": (15, None, False),
    "0d19": (19, None, False),
    "017": (17, None, False),  # no octal by a leading zero (section 6.4.3.2)
    "8w255": (255, 8, False),
    "8s127": (127, 8, True),
    "16w0xABCD": (0xABCD, 16, False),
    "4s0b1111": (15, 4, True),
    "32w1_0": (10, 32, False),
}


@pytest.mark.parametrize("text", INTEGERS)
def test_integers(text: str) -> None:
    assert integer_value(text) == INTEGERS[text]


@pytest.mark.parametrize("text", ["", "0x", "8w", "w8", "1a", "8q3", "0b2", "0o8", "0x_"])
def test_not_integers(text: str) -> None:
    assert integer_value(text) is None


def test_preprocessing_numbers_are_cut() -> None:
    assert p4_pieces("1..5") == ["1", "..", "5"]
    assert p4_pieces("0x1E+2") == ["0x1E", "+", "2"]
    assert p4_pieces("8w1") == ["8w1"]


def scan(text: str) -> list[str]:
    return Preprocessor(Diagnostics()).run("x", text, {}).texts[:-1]


def test_longest_punctuation_wins() -> None:
    text = "a&&&b |+| |-|= <<= {#} ... .. >> ++ <= != |+|="
    assert scan(text) == ["a", "&&&", "b", "|+|", "|-|=", "<<=", "{#}", "...", "..", ">>", "++", "<=", "!=", "|+|="]


def test_strings_keep_their_escapes_and_may_span_lines() -> None:
    assert scan('@name("a\\"b // c") x') == ["@", "name", "(", '"a\\"b // c"', ")", "x"]
    assert scan('"one\ntwo" x') == ['"one\ntwo"', "x"]


def test_kinds() -> None:
    assert [kind_of(t) for t in ("state", "accept", "_", "_x", "7", '"s"', "&&&")] == [
        "state", "ID", "_", "ID", "INTEGER", "STRING", "&&&",
    ]  # fmt: skip


def test_control_characters_and_other_scripts_do_not_stop_it() -> None:
    assert scan("a \x01 \u00e9") == ["a", "\x01", "\u00e9"]
