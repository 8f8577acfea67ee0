"""The value of an ``#if`` expression (C standard 6.10.1): 64-bit integers, unsigned where an operand is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from emulator.p4.preprocess.macros import MacroError, Token

_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)([uUlL]*)")
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
_WRAP = 1 << 64


class _Value:
    __slots__ = ("is_unsigned", "number")

    def __init__(self, number: int, is_unsigned: bool = False) -> None:
        number %= _WRAP
        self.is_unsigned = is_unsigned
        self.number = number if is_unsigned or number < _WRAP // 2 else number - _WRAP


class _Evaluator:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self.texts = [t[1] for t in tokens]
        self.at = 0

    def peek(self) -> str:
        return self.texts[self.at] if self.at < len(self.texts) else ""

    def ternary(self, live: bool) -> _Value:
        condition = self.binary(0, live)
        if self.peek() != "?":
            return condition
        self.at += 1
        then = self.ternary(live and condition.number != 0)
        if self.peek() != ":":
            raise MacroError("'?' without following ':' in preprocessor expression")
        self.at += 1
        otherwise = self.ternary(live and condition.number == 0)
        chosen = then if condition.number else otherwise
        return _Value(chosen.number, then.is_unsigned or otherwise.is_unsigned)

    def binary(self, level: int, live: bool) -> _Value:
        if level == len(_LEVELS):
            return self.unary(live)
        left = self.binary(level + 1, live)
        while (op := self.peek()) in _LEVELS[level]:
            self.at += 1
            if op in ("&&", "||"):
                needed = bool(left.number) == (op == "&&")
                right = self.binary(level + 1, live and needed)
                left = _Value(int(bool(right.number) if needed else op == "||"))
            else:
                left = self.apply(op, left, self.binary(level + 1, live), live)
        return left

    def apply(self, op: str, left: _Value, right: _Value, live: bool) -> _Value:
        if op in ("<<", ">>"):
            return self.shift(op, left, right.number)
        is_unsigned = left.is_unsigned or right.is_unsigned
        a, b = _Value(left.number, is_unsigned).number, _Value(right.number, is_unsigned).number
        if op in ("==", "!=", "<", ">", "<=", ">="):
            table = {"==": a == b, "!=": a != b, "<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}
            return _Value(int(table[op]))
        if op in ("/", "%"):
            if b == 0:
                if live:
                    raise MacroError("division by zero in #if")
                return _Value(0, is_unsigned)
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return _Value(quotient if op == "/" else a - b * quotient, is_unsigned)
        table2 = {"|": a | b, "^": a ^ b, "&": a & b, "+": a + b, "-": a - b, "*": a * b}
        return _Value(table2[op], is_unsigned)

    @staticmethod
    def shift(op: str, left: _Value, count: int) -> _Value:
        if op == ">>":
            count = -count
        if count >= 0:
            return _Value(left.number << min(count, 64), left.is_unsigned)
        return _Value(left.number >> min(-count, 64), left.is_unsigned)

    def unary(self, live: bool) -> _Value:
        text = self.peek()
        self.at += 1
        if text == "(":
            value = self.ternary(live)
            if self.peek() != ")":
                raise MacroError("missing ')' in expression")
            self.at += 1
            return value
        if text in ("!", "~", "-", "+"):
            value = self.unary(live)
            if text == "!":
                return _Value(int(not value.number))
            return _Value({"~": ~value.number, "-": -value.number, "+": value.number}[text], value.is_unsigned)
        return self.primary(text)

    def primary(self, text: str) -> _Value:
        if match := _NUMBER.fullmatch(text):
            digits = match.group(1)
            is_octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
            number = int(digits, 8) if is_octal else int(digits, 0)
            return _Value(number, "u" in match.group(2).lower() or number >= _WRAP // 2)
        if text.startswith("'") and len(text) == 3:
            return _Value(ord(text[1]))
        if text and (text[0].isalpha() or text[0] == "_"):
            return _Value(0)
        if not text:
            raise MacroError("#if with no expression" if len(self.texts) == 0 else "operand missing in #if expression")
        raise MacroError(f'token "{text}" is not valid in preprocessor expressions')


def evaluate(tokens: Sequence[Token]) -> bool:
    """Whether the expression, already expanded and with ``defined`` replaced, is not 0."""
    evaluator = _Evaluator(tokens)
    value = evaluator.ternary(True)
    if evaluator.peek():
        raise MacroError(f'missing binary operator before token "{evaluator.peek()}"')
    return value.number != 0
