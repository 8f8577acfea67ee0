"""The operator that a reduction names: as a function over rows, and as what handlers apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pspin_model.flare.combine import compile_operator
from pspin_model.flare.config import Reduction, user_function
from pspin_model.flare.elements import Operator, operator
from pspin_model.flare.records import OPERATOR_CODES


@dataclass(frozen=True, slots=True)
class ChosenOperator:
    """One operator, twice."""

    rows: Operator
    code: int
    """A handler's A_OPERATOR: one of ours by number, a user's by the address of its machine code."""
    compiled: Any = None
    """That machine code, kept alive."""


def chosen_operator(reduction: Reduction) -> ChosenOperator:
    """Compiles a user's function for the reduction's element type."""
    if ":" not in reduction.operator:
        return ChosenOperator(operator(reduction.operator), OPERATOR_CODES.get(reduction.operator, 0))
    function = user_function(reduction.operator)
    compiled = compile_operator(function, reduction.element_type)
    return ChosenOperator(operator(function), compiled.address, compiled)
