"""Lines of a test to tokens.

Two modes, as p4c's driver has them: behind ``packet`` and ``expect`` the rest of the line is nibbles, elsewhere it is
words, numbers, addresses and signs. A comment starts with ``#``, but not among nibbles.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Address, IPv6Address

from emulator.harness.stf.errors import refuse


class Kind(Enum):
    WORD = "a name"
    QUOTED = "a quoted name"
    NUMBER = "a number"
    SIGN = "a sign"
    END = "the end of the line"


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    """A quoted name is without its quotes."""
    column: int
    """Column, from 1."""

    def __str__(self) -> str:
        return self.kind.value if self.kind is Kind.END else f"{self.text!r}"


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    """Line number, from 1."""
    command: str
    """First word, in lower case."""
    tokens: tuple[Token, ...]
    """What follows it, and an END; empty in a line of nibbles."""
    port: str = ""
    """Behind ``packet`` or ``expect``: decimal digits, perhaps none."""
    nibbles: str = ""
    """Behind that, without blanks."""


DATA_COMMANDS = ("packet", "expect")

_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]+) | (?P<comment>\#.*)
    | (?P<mac>[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}(?![0-9A-Za-z_:]))
    | (?P<ipv4>[0-9]+(?:\.[0-9]+){3}(?![0-9.]))
    | (?P<number>0[xX][0-9A-Fa-f*]+ | 0[bB][01*]+ | [0-9]+(?:\.[0-9]+)?)
    | (?P<word>[A-Za-z_$][A-Za-z0-9_$]*)
    | "(?P<quoted>[^"]*)"
    | (?P<sign>&&& | \.\. | == | != | <= | >= | [<>=:/,.()\[\]*])""",
    re.VERBOSE,
)
_IPV6 = re.compile(r"(?=[0-9A-Fa-f:]*:[0-9A-Fa-f]*:)[0-9A-Fa-f:]+(?:(?:[0-9]+\.){3}[0-9]+)?(?![0-9A-Za-z_])")
_BEFORE_VALUES = (":", "(", ",", "&&&", "..")
"""An IPv6 address is read only after one of these, since a key's name may look like its first group."""
_FIRST_WORD = re.compile(r"[ \t]*([A-Za-z_]+)")
_NOT_DATA = re.compile(r"[^0-9A-Fa-f*$ \t\r]")


def read_line(number: int, text: str) -> Line | None:
    """One line of a test; None for an empty one. Raises `StfError`."""
    if not text.strip() or text.lstrip().startswith("#"):
        return None
    first = _FIRST_WORD.match(text)
    if first is None:
        raise refuse(number, f"a line starts with a command, not with {text.strip()[0]!r}")
    command, rest = first[1].lower(), text[first.end() :]
    if command in DATA_COMMANDS:
        return Line(number, command, (), *_nibbles(number, rest))
    return Line(number, command, tuple(_tokens(number, rest, first.end())))


def _nibbles(number: int, text: str) -> tuple[str, str]:
    """The port, which is the leading run of decimal digits, and all that follows it."""
    wrong = _NOT_DATA.search(text)
    if wrong is not None and wrong[0] == "#":
        raise refuse(number, "a comment needs a separate line; it cannot follow a packet's data")
    if wrong is not None:
        raise refuse(number, f"{wrong[0]!r} among a packet's data: hex digits, and in an expect '*' and a last '$'")
    port = re.match(r"\s*([0-9]*)", text)
    assert port is not None
    return port[1], re.sub(r"\s", "", text[port.end() :])


def _tokens(number: int, text: str, offset: int) -> list[Token]:
    found: list[Token] = []
    position = 0
    while position < len(text):
        address = _IPV6.match(text, position) if found and found[-1].text in _BEFORE_VALUES else None
        if address is not None and (digits := _ipv6_digits(address[0])):
            found.append(Token(Kind.NUMBER, digits, offset + position + 1))
            position = address.end()
            continue
        match = _TOKEN.match(text, position)
        if match is None:
            raise refuse(number, f"column {offset + position + 1}: unexpected character {text[position]!r}")
        kind = match.lastgroup
        if kind in ("number", "word", "quoted", "sign"):
            found.append(Token(Kind[kind.upper()], match[kind], offset + position + 1))
        elif kind in ("mac", "ipv4"):
            found.append(Token(Kind.NUMBER, _digits(number, kind, match[kind]), offset + position + 1))
        position = match.end()
    return [*found, Token(Kind.END, "", offset + len(text) + 1)]


def _digits(number: int, kind: str, text: str) -> str:
    """An address as a number with all of its hexadecimal digits, so that a key without a mask is matched whole."""
    if kind == "mac":
        return "0x" + text.replace(":", "")
    try:
        return f"0x{int(IPv4Address(text)):08x}"
    except ValueError:
        raise refuse(number, f"{text} is not an IPv4 address") from None


def _ipv6_digits(text: str) -> str:
    """Empty where it is not an address."""
    try:
        return f"0x{int(IPv6Address(text)):032x}"
    except ValueError:
        return ""
