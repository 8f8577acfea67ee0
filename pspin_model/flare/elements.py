"""Element types and operators of a reduction: what is summed, and what summing means.

Values are numpy arrays, one row a packet; an operator is any function of two such arrays that works element by element.
Its left operand is in the buffer, or, on a tree, what came from the children with the lower numbers. Types
are ours, or the user's (`ElementType`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
class ElementType:
    """What an element is, and what may be done with it."""

    dtype: np.dtype[Any]
    """Type of its bytes in packets and buffers: one of numpy's numbers, or a structure of them, of which operators get
    a tuple and return one."""
    operators: Mapping[str, Callable[[Any, Any], Any]] = field(default_factory=dict)
    """By the name under which a reduction asks for them: functions of two elements. Without any, sum, min, max and
    product are those of the numbers."""
    random: Callable[[np.random.Generator, int], Any] | None = None
    """Random elements to simulate with, so many; without it small numbers."""
    real: Callable[[Values], Values] | None = None
    """Elements as floats, where their bytes are other numbers: results that depend on the order of operands are
    compared as these."""
    tolerance: tuple[float, float] | None = None
    """Relative and absolute, for that. Without it: integers are compared exactly, floats within `TOLERANCES`."""

    def problem(self) -> str:
        """Why it cannot be; empty if it can."""
        parts = [self.dtype[name] for name in self.dtype.names] if self.dtype.names else [self.dtype]
        wrong = [part for part in parts if part.kind not in "iufc" or part.name == "float16" or part.itemsize > 16]
        if wrong and self.dtype not in ELEMENT_TYPES.values():
            return f"of {wrong[0]}: use integers, float32, float64 or complex numbers, or a structure of such fields"
        return ""


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


WIDE = (1e-4, 2e-4)
TOLERANCES = {"float16": (1e-2, 0.5)}
"""Relative and absolute, for another order of operands (``WIDE``: of other types): partial sums of 256 values below 1
are at most 256, mostly below 32, and each addition rounds to half of 2**-24 or 2**-11 of them."""


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
        except (TypeError, ValueError):  # it needs numbers: `a if a > b else b`, math.hypot
            whole = by_element(left, right)
        if whole.shape != left.shape:
            raise ElementError(f"{function} makes {whole.shape} of two rows of {left.shape}")
        return whole.astype(left.dtype)

    return combine


def random_values(shape: tuple[int, ...], of: ElementType, seed: int) -> Values:
    """What children send, drawn by the type itself or small numbers."""
    return drawn(np.random.default_rng(seed), shape, of)


def drawn(random: np.random.Generator, shape: tuple[int, ...], of: ElementType) -> Values:
    """The same from a generator."""
    if of.random is not None:
        return np.asarray(of.random(random, math.prod(shape)), of.dtype).reshape(shape)
    return small_numbers(random, shape, of.dtype)


def small_numbers(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Values:
    """Small elements, so that integer sums of many rarely wrap and products stay finite."""
    if dtype.names:
        made = np.empty(shape, dtype)
        for name in dtype.names:
            made[name] = small_numbers(random, shape, dtype[name])
        return made
    if dtype.kind in "iu":
        return random.integers(-3 * (dtype.kind == "i"), 4, shape, dtype=np.int8).astype(dtype)
    if dtype.kind == "c":
        made = np.empty(shape, dtype)
        made.real, made.imag = (small_numbers(random, shape, np.dtype(np.float32)) for _ in range(2))
        return made
    values = random.random(shape, np.float32)  # four times as fast as normal ones, of which a simulation would wait
    values *= 2
    values -= 1
    return values.astype(dtype, copy=False)


def agree(result: Values, expected: Values, of: ElementType, *, bitwise: bool = False) -> bool:
    """Whether a result is what is expected: integers exactly, floats within a tolerance unless ``bitwise``; a NaN
    equals a NaN."""
    if of.real is not None and not bitwise:
        return _close(of.real(result), of.real(expected), of.tolerance or WIDE)
    if of.dtype.names:
        return all(
            agree(result[name], expected[name], ElementType(of.dtype[name], tolerance=of.tolerance), bitwise=bitwise)
            for name in of.dtype.names
        )
    if of.dtype.kind in "iu":
        return bool((result == expected).all())
    if bitwise:
        same = np.ascontiguousarray(result).view(np.uint8) == np.ascontiguousarray(expected).view(np.uint8)
        whole = same.reshape(*result.shape, -1).all(axis=-1)
        return bool((whole | (np.isnan(result) & np.isnan(expected))).all())
    return _close(result, expected, of.tolerance or TOLERANCES.get(of.dtype.name, WIDE))


def _close(result: Values, expected: Values, tolerance: tuple[float, float]) -> bool:
    relative, absolute = tolerance
    wide = np.complex128 if result.dtype.kind == "c" else np.float64
    one, other = result.astype(wide), expected.astype(wide)
    return bool(np.allclose(one, other, rtol=relative, atol=absolute, equal_nan=True))
