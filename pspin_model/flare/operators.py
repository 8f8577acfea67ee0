"""The operator of a reduction: a function of two elements, the same over rows, and as code that handlers apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pspin_model.flare.combine import compile_operator, compiled_rows, rows_address
from pspin_model.flare.config import Reduction
from pspin_model.flare.dense.reference import reduce_tree
from pspin_model.flare.elements import ElementError, ElementType, Operator, agree, operator, random_values
from pspin_model.flare.models.dense import Algorithm
from pspin_model.flare.records import OPERATOR_CODES, USERS
from pspin_model.flare.user_objects import OURS, user_function

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


SAMPLES = ((3, 4096), (16, 512))
"""Trials of a user's function: numbers per call, and calls. [ours]"""


@dataclass(frozen=True, slots=True)
class ChosenOperator:
    """One operator, twice."""

    rows: Operator
    code: int
    """A handler's A_OPERATOR."""
    address: int
    """A handler's A_ROWS: machine code for the reduction's type."""
    compiled: Any = None
    """That of a user's function, kept alive."""


def chosen_operator(reduction: Reduction) -> ChosenOperator:
    """Compiles what is not one of our operators on one of our types.

    Raises ElementError where it does not compile, or where its result depends on the order of the operands, which only
    a tree fixes.
    """
    if is_ours(reduction):
        code = OPERATOR_CODES[reduction.operator]
        return ChosenOperator(operator(reduction.operator), code, rows_address(reduction.dtype))
    function = function_of(reduction) or plain_function(reduction.operator)
    compiled = compile_operator(function, reduction.element_type, reduction.operator)
    made = compiled_rows(compiled, reduction.operator)
    if reduction.algorithm in (Algorithm.SINGLE, Algorithm.MULTI) and _depends_on_order(made, reduction.element_kind):
        raise ElementError(
            f"operator {reduction.operator} on {reduction.dtype} depends on the order of its operands, and with "
            f'algorithm = "{reduction.algorithm}" that is the order of arrival: use algorithm = "tree"'
        )
    return ChosenOperator(made, USERS, compiled.address, compiled)


def _depends_on_order(of: Operator, kind: ElementType) -> bool:
    """Whether random numbers come out differently from the other end, or in pairs."""
    for shape in SAMPLES:
        rows = random_values(shape, kind, 0)
        forwards = reduce(of, rows)
        if not all(agree(other, forwards, kind) for other in (reduce(of, rows[::-1]), reduce_tree(rows[::-1], of))):
            return True
    return False
