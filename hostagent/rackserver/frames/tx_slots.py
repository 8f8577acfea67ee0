"""Cells of the ports' rings, for answers that are written straight into them.

Several cores answer to the same ports. Were each cell taken from the ring by an atomic step, its line would go from
core to core for every answer, so with more than one core each takes cells in runs and uses up its own. Where the ring
has no more, a core takes what is left of another's run: an answer is dropped only where a ring is full, as with one
core. When all cores have finished, unused cells are filled with the ring's last frames, and the counts of all cores
are added up: only then do the frames become visible to the port.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.arithmetic import trailing_zeros
from emulator.native.atomics import atomic_add64, compare_exchange64, load_once64, store_release64
from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i64, load_u32, record_at, store_i64, store_u32
from emulator.native.pages import CACHE_LINE_BYTES
from emulator.ports.batch import (
    TX_BYTES,
    TX_CELLS,
    TX_DROPPED_FULL,
    TX_DROPPED_TOO_LONG,
    TX_FRAMES,
    TX_LENGTHS,
    TX_LIMIT,
    TX_MASK,
    TX_RING_BYTES,
    TX_STRIDE,
    TX_TAIL,
)
from emulator.ports.spec import MAX_PORTS
from hostagent.rackserver.records import integers, server_at

RUN_CELLS = 8
"""Cells that a core takes at once, unless it took others in the last batch. By runs of one a sum on two cores took a
seventh longer; of longer ones more frames have to be moved when the cores are done."""
NONE = -1
POSITION = 0xFFFFFFFF
"""Positions in rings, mod 2^32 here."""

RUN = np.dtype(integers("span", "frames", "bytes", "usual", "cells", "stride", "mask", "lengths"), align=True)
"""One core's cells of one port: a cache line.

span    the first that is left, and the one behind the last << 32; any core may take the first, by an atomic step
frames  that it has appended since they were added up, and their ``bytes``
usual   how many it had appended when they were added up: it begins the next batch with as many, so that it mostly gets
        the cells that it had before, whose lines need not come from another core
cells to lengths   as in the TX_RING, whose own line goes from core to core
"""
assert RUN.itemsize == CACHE_LINE_BYTES
WORD_BITS = 64
RUNS = np.dtype([("touched", np.int64, MAX_PORTS // WORD_BITS), ("runs", RUN, MAX_PORTS)], align=True)
"""One core's. touched: bits of the ports for which it has taken cells since they were added up."""
assert RUNS.fields is not None
RUNS_AT, RUNS_BYTES, RUN_BYTES = RUNS.fields["runs"][1], RUNS.itemsize, RUN.itemsize
run_at = record_at(RUN)


@njit(forceinline=True)
def take_tx_slot(server: Any, core: int, port: int, length: int) -> Any:
    """Address of a cell in a port's ring, now of that length; 0 for a counted drop. ``tx_append`` for many cores."""
    ring = server.tx + port * TX_RING_BYTES
    return take_of_run(server, core, port, length) if server.cores > 1 else take_next(ring, length)


@njit(forceinline=True)
def take_next(ring: int, length: int) -> Any:
    """As `take_tx_slot`, of a ring that no other core uses."""
    cells = load_i64(ring + TX_CELLS)
    if cells == 0:
        return 0
    if length > load_u32(ring + TX_STRIDE):
        store_i64(ring + TX_DROPPED_TOO_LONG, load_i64(ring + TX_DROPPED_TOO_LONG) + 1)
        return 0
    tail = load_i64(ring + TX_TAIL)
    if tail >= load_i64(ring + TX_LIMIT):
        store_i64(ring + TX_DROPPED_FULL, load_i64(ring + TX_DROPPED_FULL) + 1)
        return 0
    store_i64(ring + TX_TAIL, tail + 1)
    store_i64(ring + TX_FRAMES, load_i64(ring + TX_FRAMES) + 1)
    store_i64(ring + TX_BYTES, load_i64(ring + TX_BYTES) + length)
    cell = tail & load_u32(ring + TX_MASK)
    store_u32(load_i64(ring + TX_LENGTHS) + 4 * cell, length)
    return cells + cell * load_u32(ring + TX_STRIDE)


@njit(forceinline=True)
def run_address(server: Any, core: int, port: int) -> Any:
    """A RUN."""
    return server.runs + core * RUNS_BYTES + RUNS_AT + port * RUN_BYTES


@njit(forceinline=True)
def take_of_run(server: Any, core: int, port: int, length: int) -> Any:
    """As `take_tx_slot`: the next cell of a core's run, of a new run, or of another core's."""
    address = run_address(server, core, port)
    run = run_at(address)
    position = take_first(address) if length <= run.stride else NONE
    if position == NONE:
        position = take_elsewhere(server, core, port, length)
        if position == NONE:
            return 0
    run.frames += 1
    run.bytes += length
    cell = position & run.mask
    store_u32(run.lengths + 4 * cell, length)
    return run.cells + cell * run.stride


@njit(forceinline=True)
def take_first(run: int) -> Any:
    """The first cell that is left of a run, or NONE."""
    span = load_once64(run)
    while span & POSITION != span >> 32 & POSITION:
        first = span & POSITION
        seen = compare_exchange64(run, span, span & ~POSITION | (first + 1) & POSITION)
        if seen == span:
            return first
        span = seen
    return NONE


@njit
def take_elsewhere(server: Any, core: int, port: int, length: int) -> Any:
    """A position where the core's own run has nothing left; NONE for a counted drop."""
    word = server.runs + core * RUNS_BYTES + 8 * (port // WORD_BITS)
    store_i64(word, load_i64(word) | 1 << port % WORD_BITS)
    ring, address = server.tx + port * TX_RING_BYTES, run_address(server, core, port)
    run = run_at(address)
    run.cells, run.lengths = load_i64(ring + TX_CELLS), load_i64(ring + TX_LENGTHS)
    run.stride, run.mask = load_u32(ring + TX_STRIDE), load_u32(ring + TX_MASK)
    if run.cells == 0:
        return NONE
    if length > run.stride:
        atomic_add64(ring + TX_DROPPED_TOO_LONG, 1)
        return NONE
    while begin_run(ring, address, RUN_CELLS if run.frames else max(run.usual, 1)):
        position = take_first(address)
        if position != NONE:
            return position
    for other in range(server.cores):
        position = take_first(run_address(server, other, port))
        if position != NONE:
            return position
    atomic_add64(ring + TX_DROPPED_FULL, 1)
    return NONE


@njit
def begin_run(ring: int, run: int, count: int) -> Any:
    """Take ``count`` cells of a ring, or as many as are free; whether there are any."""
    limit = load_i64(ring + TX_LIMIT)
    tail = load_once64(ring + TX_TAIL)
    while tail < limit:
        end = min(tail + count, limit)
        seen = compare_exchange64(ring + TX_TAIL, tail, end)
        if seen == tail:
            store_release64(run, (end & POSITION) << 32 | tail & POSITION)
            return True
        tail = seen
    return False


@njit
def close_runs(address: int) -> None:
    """All cores are done: rings have no gaps from here on, and what each has counted is theirs."""
    server = server_at(address)
    for word in range(MAX_PORTS // WORD_BITS):
        touched = 0
        for core in range(server.cores):
            place = server.runs + core * RUNS_BYTES + 8 * word
            touched |= load_i64(place)
            store_i64(place, 0)
        while touched != 0:
            close_port(server, word * WORD_BITS + trailing_zeros(touched))
            touched &= touched - 1


@njit
def close_port(server: Any, port: int) -> None:
    """Move the last frames into cells that are left."""
    ring = server.tx + port * TX_RING_BYTES
    tail = trim(server, port, load_i64(ring + TX_TAIL))
    for core in range(server.cores):
        address = run_address(server, core, port)
        while True:
            position = take_first(address)
            if position == NONE:
                break
            tail -= 1
            move(ring, tail, position)
            tail = trim(server, port, tail)
        run = run_at(address)
        store_i64(ring + TX_FRAMES, load_i64(ring + TX_FRAMES) + run.frames)
        store_i64(ring + TX_BYTES, load_i64(ring + TX_BYTES) + run.bytes)
        run.usual, run.frames, run.bytes = run.frames, 0, 0
    store_i64(ring + TX_TAIL, tail)


@njit
def trim(server: Any, port: int, tail: int) -> Any:
    """The ring's tail without unused runs at its end."""
    core = 0
    while core < server.cores:
        run = run_at(run_address(server, core, port))
        left = (run.span >> 32) - run.span & POSITION
        core += 1
        if left != 0 and run.span >> 32 & POSITION == tail & POSITION:
            tail -= left
            run.span = 0
            core = 0
    return tail


@njit
def move(ring: int, source: int, target: int) -> None:
    """A frame from one position to another."""
    source, target = source & load_u32(ring + TX_MASK), target & load_u32(ring + TX_MASK)
    cells, stride, lengths = load_i64(ring + TX_CELLS), load_u32(ring + TX_STRIDE), load_i64(ring + TX_LENGTHS)
    length = load_u32(lengths + 4 * source)
    copy_bytes(cells + target * stride, cells + source * stride, length)
    store_u32(lengths + 4 * target, length)
