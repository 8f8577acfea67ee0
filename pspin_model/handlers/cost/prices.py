"""What an operation of a handler with derived costs is charged, by the types it works on.

A function takes the core and the operands, charges the operation and does it. Of numbers, an operation is instructions
of its class; of whole views, it is the table's price of an element for each element of the result (of a reduction: of
its operand), at the widest view's type, and divisions in addition. What has no price raises HandlerError when the
handler is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core import types

from pspin_model.handlers.check import words
from pspin_model.handlers.check.runtime import arange, fits, into1, into2
from pspin_model.handlers.core import charge_all, charge_elements
from pspin_model.handlers.cost.remote_memory_cost import reads, write_one, writes
from pspin_model.handlers.errors import HandlerError
from pspin_model.handlers.overloads import defined, overloaded
from pspin_model.machine.costs import CLASSES
from pspin_model.machine.faults import PlacedDivisionError

PREFIX = "_netsum_"
SELF = "charge it yourself (cost='declared', or a helper that does)"
NAMESPACE: dict[str, Any] = {"charge_all": charge_all, "charge_elements": charge_elements, "np": np, "math": math}
NAMESPACE |= {"fits": fits, "into1": into1, "into2": into2, "arange": arange}
NAMESPACE |= {"PlacedDivisionError": PlacedDivisionError}
NAMESPACE |= {"reads": reads, "writes": writes, "write_one": write_one}


@dataclass(frozen=True, slots=True)
class Kind:
    """Instructions of an operation on two numbers, by class, and those that an element of a view takes in addition to
    the table's price of one."""

    integer: dict[str, int]
    real: dict[str, int]
    per_element: dict[str, int]


PLAIN = Kind({"alu": 1}, {"fp": 1}, {})
PRODUCT = Kind({"mul": 1}, {"fp": 1}, {})
DIVISION = Kind({"div": 1}, {"div": 1}, {"div": 1})
CHOICE = Kind({"alu": 1, "branch": 1}, {"fp": 1}, {})
ABSOLUTE = Kind({"alu": 3}, {"fp": 1}, {})


def charge_text(**counts: str | int) -> str:
    """A call that charges instructions by class."""
    return f"charge_all(h, {', '.join(str(counts.get(name, 0)) for name in CLASSES)})"


def cannot_price(what: str) -> HandlerError:
    """The error for what has no price."""
    return HandlerError(f"cannot price {what}; {SELF}")


def _number(kind: Any) -> bool:
    return isinstance(kind, types.Integer | types.Float | types.Boolean)


def _element(kind: Any) -> bool:
    return isinstance(kind, types.Array) and _number(kind.dtype)


def _widest(operands: Sequence[Any]) -> int:
    views = [place for place, kind in enumerate(operands) if _element(kind)]
    return max(views, key=lambda place: getattr(operands[place].dtype, "bitwidth", 8))


def _elements(operands: Sequence[Any], size: str, per_element: dict[str, int]) -> str:
    text = f"charge_elements(h, x{_widest(operands)}, {size})"
    text += "".join(f"; reads(h, x{place}, x{place}.size)" for place, kind in enumerate(operands) if _element(kind))
    if per_element:
        text += "; " + charge_text(**{name: f"{count} * {size}" for name, count in per_element.items()})
    return text


def each(kind: Kind) -> Callable[[str, Sequence[Any]], str]:
    """Price of an operation on numbers, or on views element by element."""

    def price(label: str, operands: Sequence[Any]) -> str:
        if not all(_number(operand) or _element(operand) for operand in operands):
            raise cannot_price(f"{label} of {', '.join(map(str, operands))}")
        if any(_element(operand) for operand in operands):
            return _elements(operands, "result.size", kind.per_element)
        counts = kind.real if any(isinstance(operand, types.Float) for operand in operands) else kind.integer
        turns = max(1, len(operands) - 1)
        return charge_text(**{name: turns * count for name, count in counts.items()})

    return price


def reduction(per_element: dict[str, int], at_end: dict[str, int]) -> Callable[[str, Sequence[Any]], str]:
    """Price of a reduction of one view, or of two together."""

    def price(label: str, operands: Sequence[Any]) -> str:
        if not all(_element(operand) for operand in operands):
            raise cannot_price(f"{label} of {', '.join(map(str, operands))}")
        text = _elements(operands, "x0.size", per_element)
        return f"{text}; {charge_text(**at_end)}" if at_end else text

    return price


def made(label: str, operands: Sequence[Any]) -> str:
    """Price of an array that is filled: by its elements."""
    source = "; reads(h, x0, x0.size)" if _element(operands[0]) else ""
    return f"charge_elements(h, result, result.size){source}"


def filled(label: str, operands: Sequence[Any]) -> str:
    """Price of a view that is filled."""
    if not _element(operands[0]):
        raise cannot_price(f"{label} of {operands[0]}")
    return "charge_elements(h, x0, x0.size); writes(h, x0, x0.size)"


def _extreme(label: str, operands: Sequence[Any]) -> str:
    """Price of min and max."""
    if len(operands) > 1:
        return each(CHOICE)(label, operands)
    return reduction({}, {})(label, operands)


SUM, MEAN = reduction({}, {}), reduction({}, {"div": 1})
INNER = "(x0 * x1).sum()"


def inner(label: str, operands: Sequence[Any]) -> str:
    """Price of an inner product of two rows."""
    if any(getattr(operand, "ndim", 0) != 1 for operand in operands):
        raise cannot_price(f"{label} of {', '.join(map(str, operands))}")
    return reduction({"mul": 1}, {})(label, operands)


BINARY = {
    "Add": ("+", PLAIN), "Sub": ("-", PLAIN), "Mult": ("*", PRODUCT), "Div": ("/", DIVISION),
    "FloorDiv": ("//", DIVISION), "Mod": ("%", DIVISION), "LShift": ("<<", PLAIN), "RShift": (">>", PLAIN),
    "BitAnd": ("&", PLAIN), "BitOr": ("|", PLAIN), "BitXor": ("^", PLAIN),
    "Lt": ("<", PLAIN), "LtE": ("<=", PLAIN), "Gt": (">", PLAIN), "GtE": (">=", PLAIN), "Eq": ("==", PLAIN),
    "NotEq": ("!=", PLAIN),
}  # fmt: skip
UNARY = {"USub": ("-", PLAIN), "Invert": ("~", PLAIN), "Not": ("not ", PLAIN)}

UFUNCS = [
    (2, PLAIN, "add subtract bitwise_and bitwise_or bitwise_xor left_shift right_shift logical_and logical_or "
               "logical_xor equal not_equal less less_equal greater greater_equal"),
    (2, PRODUCT, "multiply"),
    (2, DIVISION, "divide true_divide floor_divide remainder mod"),
    (2, CHOICE, "minimum maximum fmin fmax"),
    (1, PLAIN, "negative invert logical_not isnan isinf isfinite rint floor ceil trunc"),
    (1, ABSOLUTE, "absolute fabs"),
    (1, PRODUCT, "square"),
    (1, DIVISION, "sqrt"),
]  # fmt: skip
REDUCTIONS = {
    **dict.fromkeys(("sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "cumsum", "cumprod"), SUM),
    "mean": MEAN,
}

Price = Callable[[str, Sequence[Any]], str]
FUNCTIONS: dict[Any, tuple[str, Price, tuple[int, ...]]] = {
    abs: ("abs", each(ABSOLUTE), (1,)), min: ("min", _extreme, (1, 2, 3, 4)), max: ("max", _extreme, (1, 2, 3, 4)),
    sum: ("sum", SUM, (1,)), math.sqrt: ("math.sqrt", each(DIVISION), (1,)),
    math.fabs: ("math.fabs", each(ABSOLUTE), (1,)), math.floor: ("math.floor", each(PLAIN), (1,)),
    math.ceil: ("math.ceil", each(PLAIN), (1,)), math.trunc: ("math.trunc", each(PLAIN), (1,)),
    np.where: ("np.where", each(CHOICE), (3,)), np.dot: ("np.dot", inner, (2,)),
    np.count_nonzero: ("np.count_nonzero", SUM, (1,)), np.copy: ("np.copy", made, (1,)),
    np.zeros: ("np.zeros", made, (1, 2)), np.ones: ("np.ones", made, (1, 2)), np.full: ("np.full", made, (2, 3)),
    np.zeros_like: ("np.zeros_like", made, (1,)),
    np.ones_like: ("np.ones_like", made, (1,)),
}  # fmt: skip
FUNCTIONS |= {
    getattr(np, name): (f"np.{name}", each(kind), (arity, arity + 1))
    for arity, kind, names in UFUNCS
    for name in names.split()
}
FUNCTIONS |= {getattr(np, name): (f"np.{name}", price, (1,)) for name, price in REDUCTIONS.items()}
"""How they are called, their price, and how many operands they may have (one more: where the result goes)."""
METHODS: dict[str, tuple[Price, tuple[int, ...]]] = {
    **{name: (price, (0,)) for name, price in REDUCTIONS.items()},
    "copy": (made, (0,)), "astype": (made, (1,)), "fill": (filled, (1,)),
}  # fmt: skip


PRICED: dict[str, Any] = {}
"""Priced functions, by the name under which a rewritten handler calls them."""


def _add_priced(name: str, operands: str, lines: Callable[..., str]) -> str:
    """``name``, of the function of ``operands`` whose code is ``lines`` of their types; made when first needed."""
    if name not in PRICED:

        def body(*kinds: Any) -> Any:
            return defined(f"def impl(h, {operands}):\n{lines(*kinds)}", NAMESPACE)

        text = f"def {name}(h, {operands}):\n    return body({operands})\n"
        PRICED[name] = overloaded(defined(text, {"body": body}))
    return name


def priced(label: str, arity: int, expression: str, price: Price) -> str:
    """Name of the function that charges and does an expression of x0, x1, .."""
    plain = "".join(letter if letter.isalnum() else "_" for letter in label)

    def lines(*kinds: Any) -> str:
        return f"    result = {expression}\n    {price(label, kinds)}\n    return result\n"

    return _add_priced(f"{PREFIX}{plain}_{arity}", ", ".join(f"x{place}" for place in range(arity)), lines)


def binary(operator: str) -> str:
    """Source of an operator or comparison with its cost, by its name in `ast`.

    A division has its place in the source as third operand.
    """
    sign, kind = BINARY[operator]
    if operator not in words.OPERATORS:
        return priced(operator, 2, f"x0 {sign} x1", each(kind))
    operands = "x0, x1, place" if operator in words.DIVISIONS else "x0, x1"

    def lines(*kinds: Any) -> str:
        charged = each(kind)(operator, kinds[:2])
        checked = ""
        if words.checks_division(operator, kinds[:2]):
            checked = "    if x1 == 0:\n        raise PlacedDivisionError(place)\n"
        return f"{checked}    result = {words.result_text(operator, kinds[:2])}\n    {charged}\n    return result\n"

    return _add_priced(f"{PREFIX}{operator}_2", operands, lines)


def between(first: str, second: str) -> str:
    """Source, with its cost, of two comparisons, ``x0 first x1 second x2``, the second only if the first holds."""
    (sign, kind), (other, after) = BINARY[first], BINARY[second]

    def lines(x0: Any, x1: Any, x2: Any) -> str:
        if not all(map(_number, (x0, x1, x2))):
            raise cannot_price(f"a decision by {x0}, {x1}, {x2}")
        return (
            f"    {each(kind)(sign, (x0, x1))}\n    if x0 {sign} x1:\n"
            f"        {charge_text(branch=1)}; {each(after)(other, (x1, x2))}\n        return x1 {other} x2\n"
            f"    {charge_text(branch_taken=1)}\n    return False\n"
        )

    return _add_priced(f"{PREFIX}{first}_and_{second}", "x0, x1, x2", lines)


def unary(operator: str) -> str:
    """Source of an operator with one operand, with its cost."""
    sign, kind = UNARY[operator]

    def lines(x0: Any) -> str:
        return _in_words(f"{sign}x0", None if operator == "Not" else x0, each(kind)(operator, (x0,)))

    return _add_priced(f"{PREFIX}{operator}_1", "x0", lines)


def power(exponent: int) -> str:
    """Source of a small integer power by multiplications, with its cost."""
    turns = max(exponent.bit_length() - 1 + bin(exponent).count("1") - 1, 1)
    kind = Kind({"mul": turns}, {"fp": turns}, {"mul": turns - 1} if turns > 1 else {})

    def lines(x0: Any) -> str:
        return _in_words(f"x0 ** {exponent}", x0, each(kind)(f"Pow{exponent}", (x0,)))

    return _add_priced(f"{PREFIX}Pow{exponent}_1", "x0", lines)


def _in_words(expression: str, operand: Any, charged: str) -> str:
    """Code that charges and computes an expression of one operand."""
    word = words.word_type(operand)
    return (
        f"    result = {expression if word is None else f'np.{word}({expression})'}\n    {charged}\n    return result\n"
    )


def in_place(operator: str) -> str:
    """Source, with its cost, of ``x0 sign= x1`` for what was read from ``a[i]``.

    A view is changed in place; another value is written back.
    """
    sign, kind = BINARY[operator]

    def lines(x0: Any, x1: Any, a: Any, i: Any) -> str:
        charged = each(kind)(f"{sign}=", (x0, x1)).replace("result.size", "x0.size")
        if isinstance(x0, types.Array):
            return f"    {charged}\n    writes(h, x0, x0.size); x0 {sign}= fits(x0, x1)\n"
        return f"    {charged}\n    write_one(h, a); a[i] = x0 {sign} x1\n"

    return _add_priced(f"{PREFIX}in_place_{operator}", "x0, x1, a, i", lines)


def update(operator: str) -> str:
    """Source that charges ``x0 sign= x1`` where x0 is a variable; it computes nothing."""
    sign, kind = BINARY[operator]

    def lines(x0: Any, x1: Any) -> str:
        size = "x0.size" if isinstance(x0, types.Array) else "x1.size"
        return "    " + each(kind)(f"{sign}=", (x0, x1)).replace("result.size", size) + "\n"

    return _add_priced(f"{PREFIX}update_{operator}", "x0, x1", lines)
