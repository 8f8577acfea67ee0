"""Which function of two elements a reduction's operator is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pspin_model.flare.config import Reduction
from pspin_model.flare.named import OURS, user_function

Function = Callable[[Any, Any], Any]


def function_of(reduction: Reduction) -> Function | None:
    """The user's, or their type's; None: one of ours on numbers."""
    if ":" in reduction.operator:
        return user_function(reduction.operator)
    return reduction.element_kind.operators.get(reduction.operator)


def is_ours(reduction: Reduction) -> bool:
    """Whether handlers have machine code for operator and type."""
    return reduction.dtype in OURS and function_of(reduction) is None


def plain_function(name: str) -> Function:
    """One of our operators as a function of two numbers, for types that handlers have no machine code for."""
    return _PLAIN[name]


def _sum(a: Any, b: Any) -> Any:
    return a + b


def _product(a: Any, b: Any) -> Any:
    return a * b


def _least(a: Any, b: Any) -> Any:
    return a if a < b or a != a else b


def _most(a: Any, b: Any) -> Any:
    return a if a > b or a != a else b


_PLAIN: dict[str, Function] = {"sum": _sum, "product": _product, "min": _least, "max": _most}
