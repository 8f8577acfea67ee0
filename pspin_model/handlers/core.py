"""The base of the handler's calls: the core's row, charging, and stopping at a point of order."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from emulator.native.jit import njit
from pspin_model.handlers.errors import HandlerError
from pspin_model.handlers.overloads import CHECKED
from pspin_model.machine.costs import (
    CLASSES,
    ELEMENT_CYCLES,
    ELEMENT_INSTRUCTIONS,
    ELEMENT_UNIT,
    ELEMENTS,
    TABLE_WORDS,
)
from pspin_model.machine.layout import (
    FAULT_BAD_CHARGE,
    FAULT_NEVER_RETURNS,
    FAULT_NO_PRICE,
    FAULT_TURNS,
    H_ACCESSES,
    H_ARGS,
    H_COLUMNS,
    H_COSTS,
    H_ENGINE_SP,
    H_FAR_ACCESSES,
    H_FAULT,
    H_FAULT_VALUE,
    H_INSTRUCTIONS,
    H_LIMIT,
    H_OP,
    H_PENDING,
    H_RESULT,
    H_SP,
    H_TICKS,
    OP_FAULT,
)
from pspin_model.machine.switching import carray, switch_stacks, words_at

(ALU, LOAD, LOAD_USE, STORE, MUL, DIV, JUMP, BRANCH_TAKEN, BRANCH, FP, L2_LOAD, L2_STORE, REGISTER, ATOMIC) = range(
    len(CLASSES)
)


def checked(function: Any) -> Any:
    """Compile a function that does so."""
    return njit(internal=True, **CHECKED)(function)


@njit(internal=True)
def row(h: int) -> Any:
    """The core's row of the state."""
    return carray(words_at(h), H_COLUMNS)


@njit(internal=True)
def costs(h: int) -> Any:
    """The cost table in force."""
    return carray(words_at(row(h)[H_COSTS]), TABLE_WORDS)


@njit(internal=True)
def stop(h: int, op: int) -> int:
    """Hand ``op`` to the engine and go on when it answers."""
    r = row(h)
    r[H_OP] = op
    switch_stacks(h + 8 * H_SP, r[H_ENGINE_SP])
    return int(row(h)[H_RESULT])


@njit(internal=True)
def argue(h: int, index: int, value: int) -> None:
    """Set an argument of the next ``stop``."""
    row(h)[H_ARGS + index] = value


@njit(internal=True)
def fault(h: int, kind: int, value: int) -> None:
    """End the handler with an error; does not return."""
    r = row(h)
    r[H_FAULT] = kind
    r[H_FAULT_VALUE] = value
    stop(h, OP_FAULT)


@njit(internal=True)
def never_returns(h: int, kind: int) -> None:
    """End a handler that would hold its core for ever: it does until its limit."""
    r = row(h)
    r[H_PENDING] += r[H_LIMIT]
    fault(h, kind, 0)


@njit(internal=True)
def spend(h: int, cycles: int, instructions: int, accesses: int) -> None:
    """Charge cycles that pass before the next point of order."""
    r = row(h)
    if cycles < 0 or instructions < 0 or accesses < 0:
        fault(h, FAULT_BAD_CHARGE, min(cycles, instructions, accesses))
    if cycles > r[H_LIMIT]:
        never_returns(h, FAULT_NEVER_RETURNS)
    r[H_PENDING] += cycles
    r[H_INSTRUCTIONS] += instructions
    r[H_ACCESSES] += accesses
    r[H_LIMIT] -= cycles


@njit(internal=True)
def turn(h: int) -> bool:
    """One turn of a while loop of a handler (put there by the decorator). Returns False."""
    r = row(h)
    r[H_TICKS] -= 1
    if r[H_TICKS] < 0:
        never_returns(h, FAULT_TURNS)
        return True
    return False


@njit(internal=True)
def turns(h: int, count: int) -> None:
    """As many turns of a loop, before its first (put there by the decorator)."""
    r = row(h)
    r[H_TICKS] -= max(count, 0)
    if r[H_TICKS] < 0:
        never_returns(h, FAULT_TURNS)


@njit(internal=True)
def charge_all(  # type: ignore[no-untyped-def]
    h, alu, load, load_use, store, mul, div, jump, branch_taken, branch, fp, l2_load, l2_store, register, atomic
):
    """`charge` with all its counts; the decorator makes one of the other, so that it is compiled once and not for each
    set of names."""
    c = costs(h)
    counts = alu + load + store + mul + div + jump + branch_taken + branch + fp + l2_load + l2_store + register
    cycles = (
        alu * c[ALU] + load * c[LOAD] + load_use * c[LOAD_USE] + store * c[STORE] + mul * c[MUL] + div * c[DIV]
        + jump * c[JUMP] + branch_taken * c[BRANCH_TAKEN] + branch * c[BRANCH] + fp * c[FP] + l2_load * c[L2_LOAD]
        + l2_store * c[L2_STORE] + register * c[REGISTER] + atomic * c[ATOMIC]
    )  # fmt: skip
    row(h)[H_FAR_ACCESSES] += l2_load + l2_store
    spend(h, cycles, counts + atomic, load + store + atomic)


charge_all.compile((numba.types.int64,) * (1 + len(CLASSES)))
charge_all.disable_compile()


@njit(internal=True)
def charge(
    h: int,
    alu: int = 0,
    load: int = 0,
    load_use: int = 0,
    store: int = 0,
    mul: int = 0,
    div: int = 0,
    jump: int = 0,
    branch_taken: int = 0,
    branch: int = 0,
    fp: int = 0,
    l2_load: int = 0,
    l2_store: int = 0,
    register: int = 0,
    atomic: int = 0,
) -> None:
    """Charge so many instructions of each class, at the table's cycles.

    ``load``, ``store`` and ``atomic`` are accesses to L1; ``load_use`` counts loads whose result the next instruction
    needs (one more cycle, no further instruction); ``register`` accesses to the core's own registers.
    """
    charge_all(
        h, alu, load, load_use, store, mul, div, jump, branch_taken, branch, fp, l2_load, l2_store, register, atomic
    )


@njit(internal=True)
def charge_cycles(h: int, cycles: int, instructions: int) -> None:
    """Plain cycles, for what no class describes."""
    spend(h, cycles, instructions, 0)


def element_index(dtype: Any) -> int:
    """Position of an element type in the cost table; replaced by a constant in compiled code."""
    return ELEMENTS.index(np.dtype(dtype).name)


@numba.extending.overload(element_index, inline="always")
def _element_index(dtype):  # type: ignore[no-untyped-def]  # numba compares signatures with the lambda's
    name = {"bool": "int8"}.get(str(getattr(dtype, "dtype", dtype)), str(getattr(dtype, "dtype", dtype)).lstrip("u"))
    if name not in ELEMENTS:
        raise HandlerError(f"no price for elements of {name}, only of {', '.join(ELEMENTS)}: charge what they are")
    index = ELEMENTS.index(name)
    return lambda dtype: index


@njit(internal=True)
def charge_elements(h: int, dtype: Any, count: int) -> None:
    """``count`` element operations of a reduction, acc[i] = acc[i] op x[i], at the table's cycles for the type."""
    charge_elements_of(h, element_index(dtype), count)


@njit(internal=True)
def charge_elements_of(h: int, index: int, count: int) -> None:
    """`charge_elements` by the type's place in the cost table."""
    c = costs(h)
    cycles = c[ELEMENT_CYCLES + index]
    if cycles < 0:
        fault(h, FAULT_NO_PRICE, index)
    instructions = c[ELEMENT_INSTRUCTIONS + index]
    total = (count * cycles + ELEMENT_UNIT - 1) // ELEMENT_UNIT
    spend(h, total, (count * instructions + ELEMENT_UNIT - 1) // ELEMENT_UNIT, 0)
