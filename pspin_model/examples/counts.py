"""Instructions of the examples' handlers, by class: what gcc makes of them for rv32imac, and with hardware loops.

The counts of each handler's parts add up to the instructions that the public RTL retires for it
(`handler_instructions`), and at the `rtl` table's cycles to the cycles it takes undisturbed.

"""

from __future__ import annotations

from typing import NamedTuple


class Loop(NamedTuple):
    """Per word of payload: instructions of each class."""

    load: int
    load_use: int
    alu: int
    atomic: int
    branch: int


class Kernel(NamedTuple):
    """A loop over the payload and what stands around it: loads from L1, own registers, arithmetic, jumps, .."""

    loop: Loop
    load: int
    load_use: int
    register: int
    alu: int
    atomic: int
    jump: int
    code_bytes: int
    store: int = 0
    mul: int = 0
    branch_taken: int = 0
    branch: int = 0


HEADER_BYTES = 28
"""IP and UDP headers before the payload."""

AGGREGATE = Kernel(Loop(1, 0, 2, 0, 1), 4, 1, 3, 15, 1, 2, 72)
REDUCE = Kernel(Loop(1, 1, 2, 1, 1), 3, 0, 4, 14, 0, 1, 80)
HISTOGRAM = Kernel(Loop(1, 0, 3, 1, 1), 4, 0, 4, 19, 0, 1, 96)
AGGREGATE_XP = Kernel(Loop(1, 1, 1, 0, 0), 4, 1, 3, 12, 1, 1, 80)
REDUCE_XP = Kernel(Loop(1, 1, 1, 1, 0), 3, 0, 4, 13, 0, 1, 80)
HISTOGRAM_XP = Kernel(Loop(1, 1, 2, 1, 0), 4, 0, 4, 17, 0, 1, 96)
