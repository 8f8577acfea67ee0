"""Machine code that takes a batch: a switch's program or an aggregator's."""

from __future__ import annotations

from typing import Any

from emulator.native.calls import call_address
from emulator.native.jit import njit
from emulator.native.memory import load_i64
from emulator.ports.batch import BATCH_ADDRESSES, BATCH_COUNT, BATCH_LENGTHS, BATCH_PORTS


@njit
def call_program(program: int, context: int, batch: int, now_ns: int) -> Any:
    """Call it over the batch record at ``batch``, without Python in between; what it returns."""
    return call_address(
        program,
        context,
        load_i64(batch + BATCH_ADDRESSES),
        load_i64(batch + BATCH_LENGTHS),
        load_i64(batch + BATCH_PORTS),
        load_i64(batch + BATCH_COUNT),
        now_ns,
    )
