"""Answers, written straight into the cells of the ports they leave by.

Several cores answer to the same ports, so a cell is taken by one atomic step; what is written into it is seen by the
port only when all cores have finished the batch.
"""

from __future__ import annotations

from typing import Any

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
from emulator.ports.intrinsics import (
    atomic_add64,
    compare_exchange64,
    load_once64,
    read32,
    read64,
    write64,
)
from emulator.ports.intrinsics import write32 as write_native32
from emulator.ports.jit import njit
from hostagent.protocol.quantizer.machine import copy_bytes, store_u8, write32, zero_bytes
from hostagent.protocol.wire import LANES_AT, Kind
from hostagent.protocol.worker.header import (
    CHUNK_AT,
    KIND_AT,
    OPERATION_AT,
    OPERATOR_AT,
    write_checksum,
)
from hostagent.rackserver.records import CHILD_BYTES, HEADER_STRIDE, MAX_CHILDREN, SHORT_HEADER_AT, child_at

RESULT, WAITING, ERROR = int(Kind.RESULT), int(Kind.WAITING), int(Kind.ERROR)


@njit
def count_up(shared: bool, address: int, amount: int) -> None:
    """Add to a counter that other cores may add to as well."""
    if shared:
        atomic_add64(address, amount)
    else:
        write64(address, read64(address) + amount)


@njit
def take_cell(shared: bool, ring: int, length: int) -> Any:
    """Address of the next cell of a TX_RING, now of that length; 0 for a counted drop. ``tx_append`` for many cores."""
    cells = read64(ring + TX_CELLS)
    if cells == 0:
        return 0
    if length > read32(ring + TX_STRIDE):
        count_up(shared, ring + TX_DROPPED_TOO_LONG, 1)
        return 0
    limit = read64(ring + TX_LIMIT)
    tail = load_once64(ring + TX_TAIL)
    while True:
        if tail >= limit:
            count_up(shared, ring + TX_DROPPED_FULL, 1)
            return 0
        if not shared:
            write64(ring + TX_TAIL, tail + 1)
            break
        seen = compare_exchange64(ring + TX_TAIL, tail, tail + 1)
        if seen == tail:
            break
        tail = seen
    cell = tail & read32(ring + TX_MASK)
    write_native32(read64(ring + TX_LENGTHS) + 4 * cell, length)
    count_up(shared, ring + TX_FRAMES, 1)
    count_up(shared, ring + TX_BYTES, length)
    return cells + cell * read32(ring + TX_STRIDE)


@njit
def begin_answer(server: Any, job: Any, bit: int, kind: int, about: Any, is_short: bool) -> Any:
    """Take a cell of the child's port and write everything before the lanes; the cell's address, or 0.

    ``about`` is (chunk, operation, operator).
    """
    place = job.row * MAX_CHILDREN + bit
    port = child_at(server.children + place * CHILD_BYTES).port
    length = LANES_AT if is_short else LANES_AT + 4 * server.lanes
    cell = take_cell(server.cores > 1, server.tx + port * TX_RING_BYTES, length)
    if cell == 0:
        return 0
    copy_bytes(cell, server.headers + place * HEADER_STRIDE + (SHORT_HEADER_AT if is_short else 0), LANES_AT)
    store_u8(cell + KIND_AT, 0, kind)
    store_u8(cell + OPERATOR_AT, 0, about[2])
    write32(cell, CHUNK_AT, about[0])
    write32(cell, OPERATION_AT, about[1])
    return cell


@njit
def finish_answer(server: Any, job: Any, bit: int, cell: int, is_short: bool) -> None:
    """The checksum, where the child's frames need one."""
    if child_at(server.children + (job.row * MAX_CHILDREN + bit) * CHILD_BYTES).zero_checksum_allowed == 0:
        write_checksum(cell, LANES_AT if is_short else LANES_AT + 4 * server.lanes)


@njit
def answer_result(server: Any, job: Any, bit: int, about: Any, lanes: int, is_short: bool) -> None:
    """A complete set's lanes, to one child; ``lanes`` is 0 where nobody had data."""
    cell = begin_answer(server, job, bit, RESULT, about, is_short)
    if cell == 0:
        return
    if not is_short:
        if lanes == 0:
            zero_bytes(cell + LANES_AT, 4 * server.lanes)
        else:
            copy_bytes(cell + LANES_AT, lanes, 4 * server.lanes)
    finish_answer(server, job, bit, cell, is_short)


@njit
def answer_words(server: Any, job: Any, bit: int, kind: int, about: Any, words: Any) -> None:
    """Four words and zeros, to one child."""
    cell = begin_answer(server, job, bit, kind, about, False)
    if cell == 0:
        return
    zero_bytes(cell + LANES_AT, 4 * server.lanes)
    for i in range(min(4, server.lanes)):
        write32(cell, LANES_AT + 4 * i, words[i])
    finish_answer(server, job, bit, cell, False)
