"""Characters to tokens: one compiled regular expression serves the preprocessor and the parser.

The preprocessor works on C's preprocessing tokens; P4's own punctuation (``&&&``, ``|+|``, ``{#}``, ``..``) is taken
whole, which gives what cpp's output would be read as. A preprocessing number such as ``1..5`` is cut into P4 tokens
only at the end (`p4_pieces`). In ``0x5E++x`` the number ends
before ``++``: cpp prints its ``0x5E+`` and ``+`` without a blank, and p4c reads that again.
"""

from __future__ import annotations

import re

_KEYWORDS = (
    "abstract action actions apply bit bool break const continue control default else entries enum error exit "
    "extern false for header header_union if in inout int key list match_kind out package parser priority return "
    "select state string struct switch table this transition true tuple type typedef varbit value_set void _"
)
KEYWORDS = frozenset(_KEYWORDS.split())
"""P4_16 grammar 1.2.5; ``@pragma`` is taken by the parser."""

_PUNCTUATION = (
    "|+|= |-|= <<= >>= &&& ... {#} |+| |-| << >> && || == != <= >= ++ += -= *= /= %= &= |= ^= .. ## "
    "{ } ( ) [ ] < > : , ; . = + - * / % & | ^ ~ ! ? @ # \\"
)
_PUNCTUATION_PATTERN = "|".join(re.escape(p) for p in sorted(_PUNCTUATION.split(), key=len, reverse=True))
TOKEN = re.compile(
    r"(?P<space>(?:[ \t\r\f\v\n]|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)+)"
    r"|(?P<id>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<number>\.?[0-9](?:[eEpP][+-](?![+-])|[A-Za-z0-9_]|\.)*)"
    r'|(?P<string>"(?:[^"\\]|\\[\s\S])*")'
    r"|(?P<char>'(?:[^'\\\n]|\\.)+')"
    r"|(?P<open>/\*)"
    r"|(?P<quote>[\"'])"
    rf"|(?P<punctuation>{_PUNCTUATION_PATTERN})"
    r"|(?P<other>[\s\S])"
)

INTEGER = re.compile(
    r"(?:(?P<width>[0-9]+)(?P<sign>[ws]))?"
    r"(?:0[xX](?P<hex>[0-9a-fA-F_]+)|0[dD](?P<dec>[0-9_]+)|0[oO](?P<oct>[0-7_]+)|0[bB](?P<bin>[01_]+)"
    r"|(?P<plain>[0-9][0-9_]*))"
)
_PIECE = re.compile(rf"{INTEGER.pattern}|\.\.\.|\.\.|\.|[+-]|[A-Za-z_][A-Za-z0-9_]*")


def kind_of(text: str) -> str:
    """Token kind of one whole token's text."""
    first = text[0]
    if not first.isascii():  # only comments and strings may hold it (section 6.4)
        return text
    if first.isalpha() or first == "_":
        return text if text in KEYWORDS else "ID"
    if first.isdigit():
        return "INTEGER"
    if first == '"':
        return "STRING"
    return text


def p4_pieces(number: str) -> list[str]:
    """A preprocessing number as P4 tokens: itself when it is an integer, else ``1..5`` as ``1``, ``..``, ``5``."""
    if INTEGER.fullmatch(number):
        return [number]
    pieces, position = [], 0
    while position < len(number):
        match = _PIECE.match(number, position)
        if match is None or not match.group():
            pieces.append(number[position:])
            break
        pieces.append(match.group())
        position = match.end()
    return pieces


MAX_DIGITS = 4096
"""Most digits of a number: 2,048 bits in base 2 fit, and Python converts no more than 4,300 decimal ones."""


_BASES = {"x": 16, "o": 8, "b": 2}


def integer_base(text: str) -> int:
    """Base in which a P4 integer literal is written."""
    digits = re.sub(r"^[0-9]+[ws]", "", text)
    return _BASES.get(digits[1:2].lower(), 10) if digits.startswith("0") else 10


def integer_text(value: int, base: int) -> str:
    """As p4c prints a constant: in the base it was written in."""
    prefix, digits = {16: ("0x", "x"), 8: ("0o", "o"), 2: ("0b", "b"), 10: ("", "d")}[base]
    return f"{'-' if value < 0 else ''}{prefix}{abs(value):{digits}}"


def integer_value(text: str) -> tuple[int, int | None, bool] | None:
    """(value, width or None, signed) of a P4 integer literal (section 6.4.3); None when it is not one."""
    match = INTEGER.fullmatch(text)
    if match is None:
        return None
    for group, base in (("hex", 16), ("dec", 10), ("oct", 8), ("bin", 2), ("plain", 10)):
        digits = match.group(group)
        if digits is not None:
            digits = digits.replace("_", "")
            if not digits:
                return None
            width = match.group("width")
            if len(digits) > MAX_DIGITS or len(width or "") > MAX_DIGITS:
                return None
            return int(digits, base), None if width is None else int(width), match.group("sign") == "s"
    return None
