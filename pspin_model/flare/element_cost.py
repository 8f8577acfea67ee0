"""What an operation on two elements takes: by the cost table, declared, or derived from the user's function.

The table's prices are of our operators, with several narrow elements at a time. A function of the user's goes element
by element: each of its words of 4 bytes takes what the table says of an int32 but for the addition (loads, store,
loop), and the function its own operations, priced by class. Branches make these differ from element to element: the
price is the mean of `ELEMENT_UNIT` random pairs, one for all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numba
import numpy as np

from pspin_model.flare.combine import compile_operator, compiled_rows
from pspin_model.flare.config import Reduction
from pspin_model.flare.elements import ElementError, random_values
from pspin_model.flare.operators import function_of
from pspin_model.flare.user_objects import definition_of, element_kind
from pspin_model.handlers.decorator import HandlerError
from pspin_model.handlers.rewrite import priced
from pspin_model.machine.costs import CLASSES, ELEMENT_UNIT, CostTable, ElementCost
from pspin_model.machine.layout import H_COLUMNS, H_COSTS, H_INSTRUCTIONS, H_LIMIT, H_PENDING, H_TICKS

WORD_BYTES = 4
"""Bytes of the cores' registers."""
CORE = "_netsum_core"
ENDLESS = 1 << 62
COMPLEX = {"sum": 2, "product": 6}
"""Operations on reals of one on complex numbers."""


@dataclass(frozen=True, slots=True)
class ElementPrice:
    """Cost of a reduction's operator on its type."""

    row: ElementCost
    """Cost of `ELEMENT_UNIT` elements of a row."""
    operation: int
    """Cycles of one, its operands in registers."""
    more_words: int
    """Words of an element beyond the first."""


def element_price(reduction: Reduction, costs: CostTable) -> ElementPrice:
    """Raises ElementError where a function's operations have no price, and none is declared."""
    words = max(1, reduction.element_type.itemsize // WORD_BYTES)
    moving = costs.elements["int32"]
    frame = words * (moving.cycles // ELEMENT_UNIT - costs.alu)
    if reduction.element_cycles:
        cycles = round(reduction.element_cycles * ELEMENT_UNIT)
        return ElementPrice(ElementCost(cycles, cycles), max(1, cycles // ELEMENT_UNIT - frame), words - 1)
    function = function_of(reduction)
    table = _by_table(reduction, costs)
    own = None if function is None else _derived(function, reduction.dtype, costs.words().tobytes(), table is not None)
    if own is not None:
        row = ElementCost(
            own.cycles + frame * ELEMENT_UNIT,
            own.instructions + words * (moving.instructions - ELEMENT_UNIT),
        )
        return ElementPrice(row, -(-own.cycles // ELEMENT_UNIT), words - 1)
    if table is None:
        raise ElementError(
            f"the cost table {costs.name!r} has no price for {reduction.operator} on {reduction.dtype}: give "
            "element_cycles, what an element takes"
        )
    operation = costs.fp if words == 1 else max(costs.fp, table.cycles // ELEMENT_UNIT - frame)
    return ElementPrice(table, operation, words - 1)


def _by_table(reduction: Reduction, costs: CostTable) -> ElementCost | None:
    """Cost of an operator on numbers; a complex one is two, and an operation on it several."""
    dtype = reduction.element_type
    if dtype.kind != "c":
        return costs.elements.get(dtype.name.removeprefix("u"))
    half = costs.elements.get(f"float{dtype.itemsize * 4}")
    if half is None or reduction.operator not in COMPLEX:
        return None
    more = (COMPLEX[reduction.operator] - 2) * costs.fp * ELEMENT_UNIT
    return ElementCost(2 * half.cycles + more, 2 * half.instructions + more)


@functools.lru_cache(64)
def _derived(function: Callable[..., Any], dtype: str, table: bytes, or_none: bool) -> ElementCost | None:
    """What the operations of a function take on a number of pairs; None, if that is allowed, where its source cannot be
    read."""
    definition = definition_of(function)
    name = getattr(function, "__name__", str(function))
    if definition is None or not isinstance(function, FunctionType):
        if or_none:
            return None
        raise ElementError(f"the source of {name} cannot be read: give element_cycles, what an element takes")
    compiled_rows(compile_operator(function, element_kind(dtype).dtype, name), name)(*_pairs(dtype))  # or an error
    try:
        run = numba.njit(error_model="python")(priced(function, definition, CORE))
        return _counted(run, dtype, np.frombuffer(table, np.int64).copy())
    except (HandlerError, numba.core.errors.NumbaError) as error:
        why = str(error).strip().splitlines()[-1].partition("; charge it yourself")[0]
        raise ElementError(f"operator {name}: {why}; give element_cycles, what an element takes") from error


def _counted(run: Any, dtype: str, table: Any) -> ElementCost:
    """Cost measured with random pairs: a core's row for the charges, without a machine."""
    row = np.zeros(H_COLUMNS, np.int64)
    row[H_COSTS], row[H_LIMIT], row[H_TICKS] = table.ctypes.data, ENDLESS, ENDLESS
    for left, right in _pairs(dtype).T:
        run(row.ctypes.data, _registers(left), _registers(right))
    jump = int(table[CLASSES.index("jump")])  # of the return: a loop has the function's operations in it
    return ElementCost(int(row[H_PENDING]) - jump * ELEMENT_UNIT, int(row[H_INSTRUCTIONS]) - ELEMENT_UNIT)


def _pairs(dtype: str) -> Any:
    """Two rows of random elements."""
    return random_values((2, ELEMENT_UNIT), element_kind(dtype), 0)


def _registers(element: Any) -> Any:
    """An element as handlers give it to an operator."""
    if isinstance(element, np.void):
        return tuple(element[name] for name in element.dtype.names or ())
    return np.float32(element) if element.dtype == np.float16 else element
