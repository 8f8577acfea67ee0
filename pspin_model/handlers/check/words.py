"""Integer arithmetic with the results of the cores' 32-bit registers, and divisions that report their source line.

numba computes all integers in 64 bits; a C program on the cores, and NumPy, keep 32. So integers of up to 32 bits go by
C's rules (C17 6.3.1.8): a result is uint32 where an operand is, int32 otherwise, modulo 2^32; a shift takes the low
five bits of its count (RISC-V, "Integer Register-Register Operations"). Constants are of C's type ``int``, or uint32
from 2^31. Python's other integers (counters, lengths, variables that begin as a constant) are words of 64 bits, and so
is arithmetic with them; a product or a shift of one with a uint32 is refused, since its high bits would differ from the
cores'. Division rounds downwards, as Python's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types as untyped_types

from pspin_model.handlers.errors import HandlerError
from pspin_model.handlers.overloads import defined, overloaded
from pspin_model.machine.faults import PlacedDivisionError

types: Any = untyped_types
"""numba's types, which have no annotations."""
WORD_BITS = 32
PREFIX = "_netsum_word_"
OPERATORS = {
    "Add": "+", "Sub": "-", "Mult": "*", "LShift": "<<", "RShift": ">>", "BitAnd": "&", "BitOr": "|", "BitXor": "^",
    "Div": "/", "FloorDiv": "//", "Mod": "%",
}  # fmt: skip
"""Operators by their names in `ast`."""
DIVISIONS = ("Div", "FloorDiv", "Mod")
"""These take one more operand: the place of the division in the source, for the fault."""
SHIFTS = ("LShift", "RShift")
MOST_POWER = 64
"""Largest constant exponent that becomes multiplications at compile time; others are computed in 64 bits."""
SIGNS = {"USub": "-", "Invert": "~"}
CONSTANT = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "LShift": operator.lshift,
    "RShift": operator.rshift, "BitAnd": operator.and_, "BitOr": operator.or_, "BitXor": operator.xor,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow, "USub": operator.neg,
    "Invert": operator.invert, "UAdd": operator.pos,
}  # fmt: skip
"""Operators that are folded at compile time where operands are constants, in Python's integers."""


def constant_word(value: int) -> Any:
    """A constant as the type that it has in C, or itself where it needs more than a word."""
    for kind in (np.int32, np.uint32):
        if np.iinfo(kind).min <= value <= np.iinfo(kind).max:
            return kind(value)
    return value


def word_type(*kinds: Any) -> str | None:
    """numpy's name of the result's type, or None where it is not of a word: floats, arrays, truth values alone, and
    integers of 64 bits."""
    if not all(isinstance(kind, types.Integer | types.Boolean) for kind in kinds):
        return None
    integers = [kind for kind in kinds if isinstance(kind, types.Integer)]
    if not integers or any(kind.bitwidth > WORD_BITS for kind in integers):
        return None
    return "uint32" if any(kind.bitwidth == WORD_BITS and not kind.signed for kind in integers) else "int32"


def result_text(name: str, kinds: tuple[Any, ...]) -> str:
    """``x0 operator x1`` for operands of these types, as an expression. Raises HandlerError where it would have 64
    bits here and 32 on the machine."""
    sign, word = OPERATORS[name], word_type(*kinds)
    if name == "Div" or word is None:
        if name in ("Mult", "LShift") and _mixed(*kinds):
            one, other = (str(getattr(kind, "literal_type", kind)) for kind in kinds)
            raise HandlerError(
                f"{one} {sign} {other} is of 64 bits here and wraps to 32 on the machine: say which, by np.uint32(..) "
                "or np.int64(..) around an operand (a variable that begins as 0 begins as np.uint32(0))"
            )
        return f"x0 {sign} x1"
    right = f"(x1 & {WORD_BITS - 1})" if name in SHIFTS else "x1"
    return f"np.{word}(x0 {sign} {right})"


def _mixed(*kinds: Any) -> bool:
    """Whether a uint32 meets an integer of 64 bits with a sign."""
    return any(kind == types.uint32 for kind in kinds) and any(
        isinstance(kind, types.Integer) and kind.bitwidth > WORD_BITS and kind.signed for kind in kinds
    )


def checks_division(name: str, kinds: tuple[Any, ...]) -> bool:
    """Whether an operation is a division of numbers, so that its divisor has to be checked for zero."""
    return name in DIVISIONS and all(isinstance(kind, types.Number | types.Boolean) for kind in kinds)


def _made(text: str) -> Any:
    return defined(text, {"np": np, "PlacedDivisionError": PlacedDivisionError})


WORDS: dict[str, Any] = {}
"""Functions by the name under which a rewritten function calls them."""


def _operation(name: str, in_place: bool) -> None:
    """``x0 operator x1`` of numbers in words, of arrays as numpy's; ``in_place`` changes an array."""
    label = f"{'i' if in_place else ''}{name}"
    arguments = "x0, x1, place" if name in DIVISIONS else "x0, x1"

    def body(*kinds: Any) -> Any:
        kinds = kinds[:2]
        text = f"def implement({arguments}):\n"
        if in_place and isinstance(kinds[0], types.Array):
            return _made(f"{text}    x0 {OPERATORS[name]}= x1\n    return x0\n")
        if checks_division(name, kinds):
            text += "    if x1 == 0:\n        raise PlacedDivisionError(place)\n"
        return _made(f"{text}    return {result_text(name, kinds)}\n")

    _register(label, arguments, body)


def _register(label: str, arguments: str, body: Callable[..., Any]) -> str:
    name = PREFIX + label
    WORDS[name] = overloaded(defined(f"def {name}({arguments}):\n    return body({arguments})\n", {"body": body}))
    return name


def _signed(name: str) -> None:
    def body(kind: Any) -> Any:
        word = word_type(kind)
        text = f"{SIGNS[name]}x0"
        return _made(f"def implement(x0):\n    return {text if word is None else f'np.{word}({text})'}\n")

    _register(name, "x0", body)


def power(exponent: int) -> str:
    """Name of the function that takes a constant power."""

    def body(kind: Any) -> Any:
        word = word_type(kind) if exponent >= 0 else None
        text = f"x0 ** {exponent}"
        return _made(f"def implement(x0):\n    return {text if word is None else f'np.{word}({text})'}\n")

    label = f"Pow{exponent}".replace("-", "_")
    return PREFIX + label if PREFIX + label in WORDS else _register(label, "x0", body)


for _name in OPERATORS:
    _operation(_name, in_place=False)
    _operation(_name, in_place=True)
for _name in SIGNS:
    _signed(_name)
