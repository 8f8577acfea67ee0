"""Worker cores as the hosts of a simulated network (``emulator.network.frames``): compiled, called by address.

Where ranks share one memory for results, because theirs would not all fit, every RESULT frame that comes to any of them
is compared with the first one of its chunk, lane by lane.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from emulator.native.calls import entry_address
from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_be32, load_i64, load_u8, record_at, store_i64, store_u8
from emulator.native.pages import address_of
from emulator.network.frames.arena import Arena
from emulator.network.frames.network import Host
from hostagent.protocol.wire import LANES_AT, Kind
from hostagent.protocol.worker import (
    TRANSMIT_BYTES,
    CoreMemory,
    CoreSettings,
    core_next_timer,
    core_poll_transmit,
    core_receive,
    core_take_completion,
    frame_stride_bytes,
    ring_chunks,
    transmit_at,
)
from hostagent.protocol.worker.header import CHUNK_AT, KIND_AT

Array = np.ndarray[Any, Any]
RESULT = int(Kind.RESULT)

RANK = np.dtype(
    [
        (name, np.int64)
        for name in (
            "core",
            "posted",
            "failed",  # status of an operation that did not succeed
            "results",  # address of the lanes of the first RESULT of each chunk; 0: nothing is compared
            "seen",  # address of a byte for each chunk
            "first",  # chunk number of the first one
            "chunks",
            "lanes_bytes",
            "compared",
            "different",
        )
    ],
    align=True,
)
rank_at = record_at(RANK)


class SimulatedRank:
    """A core with its frame pool."""

    def __init__(self, settings: CoreSettings, arena: Arena) -> None:
        stride, ring = frame_stride_bytes(settings.lanes), ring_chunks(settings.window)
        self.record = arena.take(RANK.itemsize).view(RANK)
        self._pool = arena.take(ring * stride)
        self._posted = arena.take(8 * ring).view(np.uint64)
        self.core = CoreMemory(settings, address_of(self._pool), stride, address_of(self._posted), arena.take)
        self.record["core"], self.record["posted"] = self.core.address, address_of(self._posted)
        self.record["lanes_bytes"] = 4 * settings.lanes
        self.host = Host(address_of(self.record), *_functions())

    def compare_with(self, results: Array, seen: Array, first: int) -> None:
        """Shared by ranks: ``results`` uint8 (chunks, lanes_bytes), ``seen`` uint8 (chunks,), zeros."""
        self.record["results"], self.record["seen"] = address_of(results), address_of(seen)
        self.record["first"], self.record["chunks"] = first, len(seen)


@cache
def _functions() -> tuple[int, int, int, int]:
    """Addresses, in the order of Host."""
    return (
        entry_address(rank_receive),
        entry_address(rank_transmit),
        entry_address(rank_next_timer),
        entry_address(rank_finished),
    )


@njit
def rank_receive(state: int, frame: int, length: int, now_ns: int) -> int:
    """See ``emulator.network.frames.loop``."""
    rank = rank_at(state)
    if rank.results != 0 and length == LANES_AT + rank.lanes_bytes and load_u8(frame + KIND_AT, 0) == RESULT:
        compare(rank, frame)
    core_receive(rank.core, frame, length, now_ns)
    return 0


@njit
def compare(rank: Any, frame: int) -> None:
    """A result's lanes with those that came first."""
    index = np.int64(load_be32(frame + CHUNK_AT)) - rank.first
    if index < 0 or index >= rank.chunks:
        return
    lanes, kept = frame + LANES_AT, rank.results + index * rank.lanes_bytes
    rank.compared += 1
    if load_u8(rank.seen, index) == 0:
        store_u8(rank.seen, index, 1)
        copy_bytes(kept, lanes, rank.lanes_bytes)
        return
    difference = 0
    for number in range(rank.lanes_bytes // 8):
        difference |= load_i64(lanes, number) ^ load_i64(kept, number)
    if difference != 0:
        rank.different += 1


@njit
def rank_transmit(state: int, orders: int, capacity: int, postings: int, read: int, now_ns: int) -> int:
    """See ``emulator.network.frames.loop``."""
    rank = rank_at(state)
    count = core_poll_transmit(rank.core, orders, capacity, read, now_ns)
    for index in range(count):
        order = transmit_at(orders + index * TRANSMIT_BYTES)
        store_i64(rank.posted, np.int64(order.frame), postings + 1 + index)
    return int(count)


@njit
def rank_next_timer(state: int) -> int:
    """See ``emulator.network.frames.loop``."""
    return int(core_next_timer(rank_at(state).core))


@njit
def rank_finished(state: int) -> int:
    """See ``emulator.network.frames.loop``."""
    rank = rank_at(state)
    count = 0
    while True:
        sequence, status = core_take_completion(rank.core)
        if sequence < 0:
            return count
        count += 1
        if status != 0:
            rank.failed = status
