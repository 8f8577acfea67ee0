"""A place in a line's tokens, and the small things that every command is made of."""

from __future__ import annotations

from emulator.harness.stf.errors import StfError, refuse
from emulator.harness.stf.lexer import Kind, Line, Token
from emulator.harness.stf.syntax import Call
from emulator.harness.stf.usage import OPERATORS, USAGE


class Cursor:
    """Reads a line from left to right; whatever does not fit raises `StfError` with the command's usage."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self._position = 0

    @property
    def token(self) -> Token:
        return self.line.tokens[self._position]

    def wrong(self, expected: str) -> StfError:
        """The error for the token at hand."""
        where = f"column {self.token.column}: expected {expected}, found {self.token}"
        return refuse(self.line.number, f"{where}; {USAGE[self.line.command]}")

    def advance(self) -> Token:
        token = self.token
        self._position += 1
        return token

    def peek(self, distance: int) -> Token:
        """The token that many places ahead, the line's END beyond it."""
        return self.line.tokens[min(self._position + distance, len(self.line.tokens) - 1)]

    def at(self, sign: str) -> bool:
        return self.token.kind is Kind.SIGN and self.token.text == sign

    def accept(self, sign: str) -> bool:
        if not self.at(sign):
            return False
        self._position += 1
        return True

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            raise self.wrong(f"'{sign}'")

    def end(self) -> None:
        if self.token.kind is not Kind.END:
            raise self.wrong("the end of the line")

    @property
    def at_number(self) -> bool:
        return self.token.kind is Kind.NUMBER

    @property
    def at_name(self) -> bool:
        return self.token.kind in (Kind.WORD, Kind.QUOTED)

    # --- Numbers ----------------------------------------------------------------------------------------------------

    def digits(self, what: str) -> str:
        """A number as written, ``*`` included."""
        if not self.at_number or "." in self.token.text:
            raise self.wrong(what)
        return self.advance().text

    def number(self, what: str) -> int:
        text = self.token.text
        if not self.at_number or "*" in text or "." in text:
            raise self.wrong(what)
        return to_int(self.advance().text)

    def fraction(self, what: str) -> str:
        """A decimal number, perhaps with a fraction, as written."""
        if not self.at_number or "*" in self.token.text:
            raise self.wrong(what)
        return self.advance().text

    # --- Names ------------------------------------------------------------------------------------------------------

    def word(self, what: str) -> str:
        """A name without dots, or a number in its place (handles may be either)."""
        if not self.at_name and not self.at_number:
            raise self.wrong(what)
        return self.advance().text

    def name(self, what: str) -> str:
        """Components joined by dots, each perhaps with an ``[n]``."""
        text = self._component(what)
        while self.accept("."):
            text += "." + self._component(what)
        return text

    def _component(self, what: str) -> str:
        if not self.at_name:
            raise self.wrong(what)
        text = self.advance().text
        while self.accept("["):
            text += f"[{self.number('an index')}]"
            self.expect("]")
        return text

    # --- Phrases ----------------------------------------------------------------------------------------------------

    def call(self, action: str) -> Call:
        """``(parameter:value, ...)`` or ``(value, ...)`` behind the action's name."""
        self.expect("(")
        arguments: list[tuple[str, str]] = []
        while not self.at(")"):
            if arguments:
                self.expect(",")
            if self.at_number and all(not name for name, _ in arguments):
                arguments.append(("", self.digits("a value")))
                continue
            if arguments and not arguments[0][0]:
                raise self.wrong("a value, as the one before has no parameter's name")
            parameter = self.name("a parameter, a value or ')'" if not arguments else "a parameter")
            self.expect(":")
            arguments.append((parameter, self.digits("a value")))
        self.expect(")")
        return Call(action, tuple(arguments))

    def handle(self) -> str | None:
        """``= name`` at the end of a line, if it is there."""
        return self.word("a name for the handle") if self.accept("=") else None

    def operator(self) -> str:
        if self.token.text not in OPERATORS or self.token.kind is not Kind.SIGN:
            raise self.wrong(f"one of {' '.join(OPERATORS)}")
        return self.advance().text

    def rate(self) -> tuple[str, int]:
        """``RATE:BURST``."""
        rate = self.fraction("a rate")
        self.expect(":")
        return rate, self.number("a burst")


def to_int(text: str) -> int:
    """Decimal (leading zeros allowed), ``0x`` or ``0b``."""
    prefix = text[:2].lower()
    return int(text[2:], 16) if prefix == "0x" else int(text[2:], 2) if prefix == "0b" else int(text)
