"""What instructions cost: three named tables.

`RTL_COSTS` are the cycles of the RI5CY cores of the public RTL (rv32imac, in order, single issue), measured: load-use 1
more, jumps and returns 2, branches 3 taken and 1 not, L1 and the core's own registers 1, an atomic in L1 1 to issue, a
load from L2 handler memory 21, a store to L2 packet memory 21. `FLARE_COSTS` take the Flare paper's 4 cycles for a word
of a reduction, whatever is packed in it (RI5CY's SIMD: two 16-bit or four 8-bit lanes of a 32-bit register); nothing is
added for banks or cold caches. `FLARE_REMEMBERED_COSTS` differ in narrow types: they have the ratios that the paper is
remembered to give.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

CLASSES = (
    "alu", "load", "load_use", "store", "mul", "div", "jump", "branch_taken", "branch", "fp", "l2_load", "l2_store",
    "register", "atomic",
)  # fmt: skip
"""Classes of instructions; ``register`` is an access to the core's own scheduler and command registers."""

ELEMENTS = ("int8", "int16", "int32", "int64", "float16", "float32", "float64")

BANK_CONFLICTS = len(CLASSES)
COLD_CACHE = BANK_CONFLICTS + 1
LOCK = COLD_CACHE + 1
ELEMENT_CYCLES = LOCK + 1
ELEMENT_INSTRUCTIONS = ELEMENT_CYCLES + 64
TABLE_WORDS = ELEMENT_INSTRUCTIONS + 64
ELEMENT_UNIT = 64
"""Elements are priced by 64, so that packed lanes keep whole numbers."""


@dataclass(frozen=True, slots=True)
class ElementCost:
    """Cost of 64 element operations of a reduction (acc[i] = acc[i] op x[i])."""

    cycles: int
    instructions: int


@dataclass(frozen=True, slots=True)
class CostTable:
    """Cycles of each class of instructions, and of reductions by element type."""

    name: str
    alu: int = 1
    load: int = 1
    load_use: int = 1
    store: int = 1
    mul: int = 1
    div: int = 35
    jump: int = 2
    branch_taken: int = 3
    branch: int = 1
    fp: int = 1
    l2_load: int = 21
    l2_store: int = 21
    register: int = 1
    atomic: int = 1
    lock: int = 4
    """Taking or giving back a free lock: an atomic swap, its result and a branch."""
    bank_conflicts: bool = True
    cold_cache: bool = True
    elements: dict[str, ElementCost] = field(default_factory=dict)

    def words(self) -> NDArray[np.int64]:
        """The table as handlers and the engine read it."""
        words = np.zeros(TABLE_WORDS, np.int64)
        for index, name in enumerate(CLASSES):
            words[index] = getattr(self, name)
        words[BANK_CONFLICTS] = self.bank_conflicts
        words[COLD_CACHE] = self.cold_cache
        words[LOCK] = self.lock
        for index, name in enumerate(ELEMENTS):
            cost = self.elements.get(name)
            words[ELEMENT_CYCLES + index] = -1 if cost is None else cost.cycles
            words[ELEMENT_INSTRUCTIONS + index] = -1 if cost is None else cost.instructions
        return words


def _per_element(cycles: int, instructions: int, lanes: int = 1) -> ElementCost:
    return ElementCost(cycles * ELEMENT_UNIT // lanes, instructions * ELEMENT_UNIT // lanes)


RTL_COSTS = CostTable(
    "rtl",
    # load, load, add, store, two pointers, branch: 9 cycles a word; the float unit is a latency longer
    elements={
        "int8": _per_element(9, 7),
        "int16": _per_element(9, 7),
        "int32": _per_element(9, 7),
        "int64": _per_element(15, 12),
        "float16": _per_element(10, 7),
        "float32": _per_element(10, 7),
    },
)
"""Measured on the RTL."""


def _flare(name: str, lanes_16_bits: int, lanes_8_bits: int) -> CostTable:
    """A table with so many narrow elements in the 4 cycles of a word."""
    return CostTable(
        name,
        bank_conflicts=False,
        cold_cache=False,
        elements={
            "int8": _per_element(4, 4, lanes_8_bits),
            "int16": _per_element(4, 4, lanes_16_bits),
            "int32": _per_element(4, 4),
            "int64": _per_element(8, 8),
            "float16": _per_element(4, 4, lanes_16_bits),
            "float32": _per_element(4, 4),
            "float64": _per_element(8, 8),
        },
    )


FLARE_COSTS = _flare("flare", lanes_16_bits=2, lanes_8_bits=4)
"""4 cycles a word, the Flare paper's figure for float32, and by mechanism: load, load, add, store of a register with
two or four narrow elements in it, so twice and four times the elements of float32 in a time, and as many bytes."""

FLARE_REMEMBERED_COSTS = _flare("flare-remembered", lanes_16_bits=4, lanes_8_bits=16)
"""As `FLARE_COSTS`, but narrow types have 2 and 4 times the *bytes* of float32 a cycle (8.2 and 16.4 Tbit/s on 512
cores, beyond the links' 6.4, for 4.1). That is what the paper is remembered to say; no mechanism of 32-bit cores that
we know gives it, so that a figure of this table repeats an assumption."""

TABLES = {table.name: table for table in (RTL_COSTS, FLARE_COSTS, FLARE_REMEMBERED_COSTS)}
