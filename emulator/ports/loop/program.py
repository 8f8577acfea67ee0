"""Machine code that takes a batch: a switch's program or an aggregator's."""

from __future__ import annotations

from typing import Any

from emulator.native.calls import call_address
from emulator.native.jit import njit
from emulator.ports.batch import batch_at


@njit
def call_program(program: int, context: int, batch: int, now_ns: int) -> Any:
    """Call it over the batch record at ``batch``, without Python in between; what it returns."""
    frames = batch_at(batch)
    return call_address(
        program,
        context,
        frames.addresses,
        frames.lengths,
        frames.ports,
        frames.count,
        now_ns,
    )
