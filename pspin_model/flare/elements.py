"""Element types and operators of a reduction: what is summed, and what summing means.

Values are numpy arrays, one row a packet; an operator is any function of two such arrays that works element by element.
Its left operand is what lies in the buffer, or, on a tree, what came from the children with the lower numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Values: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Combine: TypeAlias = Callable[[Values, Values], Values]


class ElementError(ValueError):
    """A type or an operator that there is not, or that does not do what an operator must; the message says which."""


ELEMENT_TYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(name) for name in ("int8", "int16", "int32", "float16", "float32")
}


@dataclass(frozen=True, slots=True)
class Operator:
    """A function of two rows, by name."""

    name: str
    combine: Combine

    def __call__(self, left: Values, right: Values) -> Values:
        return self.combine(left, right)


def _wrapping(function: Combine) -> Combine:
    def combine(left: Values, right: Values) -> Values:
        with np.errstate(over="ignore", invalid="ignore"):
            return function(left, right)

    return combine


OPERATORS = {
    "sum": Operator("sum", _wrapping(np.add)),
    "min": Operator("min", np.minimum),
    "max": Operator("max", np.maximum),
    "product": Operator("product", _wrapping(np.multiply)),
}
"""Integers wrap; a NaN wins."""


TOLERANCES = {"float32": (1e-4, 2e-4), "float16": (1e-2, 0.5)}
"""Relative and absolute, for another order of operands: partial sums of 256 values below 1 are at most 256, mostly
below 32, and each addition rounds to half of 2**-24 or 2**-11 of them."""


def element_type(name: str) -> np.dtype[Any]:
    """The type of that name. Raises ElementError for one that is not supported."""
    if name not in ELEMENT_TYPES:
        raise ElementError(f"element type {name!r}: choose one of {', '.join(ELEMENT_TYPES)}")
    return ELEMENT_TYPES[name]


def operator(which: str | Callable[[Any, Any], Any]) -> Operator:
    """An operator by name, or one made of a user's function of two elements or of two arrays.

    A function that works on whole arrays (most arithmetic does) is used as it is; one that does not is called for each
    pair of elements. Raises ElementError for an unknown name.
    """
    if isinstance(which, Operator):
        return which
    if isinstance(which, str):
        if which not in OPERATORS:
            raise ElementError(f"operator {which!r}: choose one of {', '.join(OPERATORS)}, or give a function")
        return OPERATORS[which]
    return Operator(getattr(which, "__name__", "function"), _user_combine(which))


def _user_combine(function: Callable[[Any, Any], Any]) -> Combine:
    by_element = np.frompyfunc(function, 2, 1)

    def combine(left: Values, right: Values) -> Values:
        try:
            whole = np.asarray(function(left, right))
        except (TypeError, ValueError):  # it wants numbers: `a if a > b else b`, math.hypot
            whole = by_element(left, right)
        if whole.shape != left.shape:
            raise ElementError(f"{function} makes {whole.shape} of two rows of {left.shape}")
        return whole.astype(left.dtype)

    return combine


def random_values(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int) -> Values:
    """Small numbers, so that integer sums of many rarely wrap and products stay finite."""
    random = np.random.default_rng(seed)
    if dtype.kind == "i":
        return random.integers(-3, 4, shape, dtype=np.int8).astype(dtype)
    values = random.random(shape, np.float32)  # four times as fast as normal ones, of which a simulation would wait
    values *= 2
    values -= 1
    return values.astype(dtype, copy=False)


def agree(result: Values, expected: Values, *, bitwise: bool = False) -> bool:
    """Whether a result is what is expected: integers exactly, floats within `TOLERANCES` unless ``bitwise``; a NaN
    equals a NaN."""
    if expected.dtype.kind == "i":
        return bool((result == expected).all())
    if bitwise:
        bits = f"u{expected.dtype.itemsize}"
        same = result.view(bits) == np.ascontiguousarray(expected).view(bits)
        return bool((same | (np.isnan(result) & np.isnan(expected))).all())
    relative, absolute = TOLERANCES[expected.dtype.name]
    wide, other = result.astype(np.float64), expected.astype(np.float64)
    return bool(np.allclose(wide, other, rtol=relative, atol=absolute, equal_nan=True))
