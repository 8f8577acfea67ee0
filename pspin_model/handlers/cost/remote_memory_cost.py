"""What derived costs add for memory that is not the L1 of the core's own cluster: L2 (the packet there, handler memory,
global arrays), and the scratchpads of other clusters, which are behind the same narrow bus. Each access takes what one
to L2 takes."""

from __future__ import annotations

from typing import Any

from numba.core import types

from emulator.native.jit import njit
from pspin_model.handlers.core import (
    L2_LOAD,
    L2_STORE,
    LOAD,
    STORE,
    charge,
    costs,
    element_index,
    row,
    spend,
)
from pspin_model.handlers.memory import address_of
from pspin_model.handlers.overloads import overloaded
from pspin_model.machine.costs import ELEMENT_INSTRUCTIONS, ELEMENT_UNIT
from pspin_model.machine.layout import (
    H_CLUSTER,
    H_CLUSTERS,
    H_FAR_ACCESSES,
    H_HANDLER_MEMORY,
    H_HANDLER_MEMORY_BYTES,
    H_PACKET_BYTES,
    H_PACKET_L2,
    H_SCRATCH,
    H_SCRATCH_BYTES,
)

WORD = 4
"""Bytes that an access moves."""
UNPACKED = 4 * ELEMENT_UNIT
"""Instructions of as many elements as the table prices together, each loaded by itself: load, load, add, store."""


@njit(internal=True)
def far_away(h: int, address: int) -> bool:
    """Whether an address is in L2 or in another cluster's L1; what a handler creates is in its own L1."""
    r = row(h)
    scratch = address - r[H_SCRATCH]
    if 0 <= scratch < r[H_SCRATCH_BYTES] * r[H_CLUSTERS]:
        return bool(scratch // r[H_SCRATCH_BYTES] != r[H_CLUSTER])
    return bool(
        0 <= address - r[H_PACKET_L2] < r[H_PACKET_BYTES]
        or 0 <= address - r[H_HANDLER_MEMORY] < r[H_HANDLER_MEMORY_BYTES]
    )


@njit(internal=True)
def _more(h: int, near: int, far: int, index: int, count: int, itemsize: int) -> None:
    """What ``count`` accesses to elements cost more than those to L1 that are charged."""
    c = costs(h)
    packed = c[ELEMENT_INSTRUCTIONS + index] < UNPACKED
    accesses = (count * itemsize + WORD - 1) // WORD if packed or itemsize > WORD else count
    row(h)[H_FAR_ACCESSES] += accesses
    spend(h, accesses * max(c[far] - c[near], 0), 0, 0)


def _away(array: Any) -> Any:
    """Whether an array of a type is in L2 or another cluster's L1. Global arrays are constants in L2."""
    if not array.mutable:
        return njit(lambda h, a: True, internal=True)
    return njit(lambda h, a: far_away(h, address_of(a)), internal=True)


def _beyond(name: str, near: int, far: int) -> Any:
    """A function that charges the additional cost of ``count`` elements of ``a`` outside the core's own L1."""

    def implement(h: Any, a: Any, count: Any) -> Any:
        if not isinstance(a, types.Array):
            return lambda h, a, count: None
        away = _away(a)

        def charged(h: Any, a: Any, count: Any) -> None:
            if away(h, a):
                _more(h, near, far, element_index(a), count, a.itemsize)

        return charged

    implement.__name__ = name
    return overloaded(implement)


reads, writes = _beyond("reads", LOAD, L2_LOAD), _beyond("writes", STORE, L2_STORE)


@overloaded
def read_one(h: Any, a: Any) -> Any:
    """Charge the load of an element of ``a``, and its address."""
    away = _away(a)

    def implement(h: Any, a: Any) -> None:
        if away(h, a):
            charge(h, l2_load=1, load_use=1, alu=1)
        else:
            charge(h, load=1, load_use=1, alu=1)

    return implement


@overloaded
def write_one(h: Any, a: Any) -> Any:
    """Charge the store of an element of ``a``."""
    away = _away(a)

    def implement(h: Any, a: Any) -> None:
        if away(h, a):
            charge(h, l2_store=1)
        else:
            charge(h, store=1)

    return implement
