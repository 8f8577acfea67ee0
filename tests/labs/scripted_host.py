"""A host of a simulated network that sends frames at given times, and notes what comes."""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.calls import entry_address
from emulator.native.jit import njit
from emulator.native.memory import load_i64, record_at, store_i64, store_u32
from emulator.native.pages import address_of
from emulator.network.frames.network import Host
from emulator.network.frames.records import NEVER_NS, ORDER_BYTES

SCRIPT = np.dtype(
    [(name, np.int64) for name in ("frames", "count", "sent", "memory", "arrived", "expected", "arrivals", "polls")]
)
script_at = record_at(SCRIPT)
FRAME_BYTES = 2_048


class ScriptedHost:
    """Sends ``frames``, (time_ns, length) in order of time; done when it has sent them and ``expected`` have come."""

    def __init__(self, frames: list[tuple[int, int]] = [], *, expected: int = 0, most: int = 4096) -> None:  # noqa: B006
        self._frames = np.array(frames, np.int64).reshape(-1, 2)
        self._memory = np.zeros(FRAME_BYTES, np.uint8)
        self._arrivals = np.zeros((most, 2), np.int64)
        self.record: Any = np.zeros(1, SCRIPT)
        self.record["frames"], self.record["count"] = address_of(self._frames), len(self._frames)
        self.record["memory"], self.record["arrivals"] = address_of(self._memory), address_of(self._arrivals)
        self.record["expected"] = expected
        functions = (entry_address(each) for each in (receive, transmit, next_timer, finished))
        self.host = Host(address_of(self.record), *functions)

    @property
    def arrivals(self) -> list[tuple[int, int]]:
        """(time_ns, length) of what has come."""
        return [(int(ns), int(length)) for ns, length in self._arrivals[: int(self.record["arrived"][0])]]


@njit
def receive(state: int, frame: int, length: int, now_ns: int) -> int:
    script = script_at(state)
    store_i64(script.arrivals, 2 * script.arrived, now_ns)
    store_i64(script.arrivals, 2 * script.arrived + 1, length)
    script.arrived += 1
    return 0


@njit
def transmit(state: int, orders: int, capacity: int, postings: int, read: int, now_ns: int) -> int:
    script = script_at(state)
    script.polls += 1
    count = 0
    while count < capacity and script.sent < script.count and load_i64(script.frames, 2 * script.sent) <= now_ns:
        store_i64(orders + count * ORDER_BYTES, script.memory)
        store_u32(orders + count * ORDER_BYTES + 8, load_i64(script.frames, 2 * script.sent + 1))
        script.sent += 1
        count += 1
    return count


@njit
def next_timer(state: int) -> int:
    script = script_at(state)
    return load_i64(script.frames, 2 * script.sent) if script.sent < script.count else NEVER_NS


@njit
def finished(state: int) -> int:
    script = script_at(state)
    if script.expected >= 0 and script.sent == script.count and script.arrived >= script.expected:
        script.expected = -1
        return 1
    return 0
