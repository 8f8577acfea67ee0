"""Several cores in parallel: every core processes the blocks of a batch that it owns, and the caller waits for all.

The caller of the server's program is core 0; every other core has a thread, which spins for the next batch for a while
and then sleeps. A small batch is processed by the caller alone, as that costs less than a wake-up; the ownership of
blocks does not change. When the caller has finished its part it takes over every part that its thread has not begun:
a thread that is not scheduled does not delay the batch.

Several cores are not always faster than one: cache lines of answers move between them, and a thread that is preempted
in its part delays the batch. So the thread pool measures: some batches in parallel, some by the caller alone, and
continues with the faster way per frame, for longer each time that the result is the same. A delayed batch ends the
trial, or the parallel phase.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from emulator.native.atomics import atomic_add32, compare_exchange64, fence, load_acquire32, pause, store_release32
from emulator.native.jit import njit
from emulator.native.memory import offset_of, record_at
from emulator.native.pages import address_of, aligned_bytes
from emulator.native.syscalls import futex_wait, futex_wake, monotonic_ns
from hostagent.rackserver.frames.loops import serve
from hostagent.rackserver.processors import processors_for

SPIN_NS = 30_000
"""How long a thread looks for the next batch: about what a sleep and a wake-up cost (as `emulator.ports.host`)."""
LOOKS = 16
"""Polls between two readings of the clock."""
FEW_FRAMES = 16
"""Batches up to this are processed by the caller: waking the threads costs about as much as this number of frames."""

TRIAL = 8
"""Batches of each kind in a trial."""
LATE_NS = 300_000
"""A wait beyond this, and beyond the caller's own part, is for a thread that was interrupted: parts are about as long
as each other, and the system's turns last a millisecond or more."""
SHORTEST_NS, LONGEST_NS = 10_000_000, 640_000_000
"""How long a choice holds: some of the system's turns at first; at last so long that a trial costs less than a
hundredth even where a batch of it is held up."""
TRY_TOGETHER, TRY_ALONE, TOGETHER, ALONE = range(4)
"""What the thread pool does now: a trial's two parts, and the choices."""

MOST_CORES, CLAIM_WORDS = 64, 8

THREAD_POOL = np.dtype(
    [
        *[(name, np.int64) for name in ("server", "cores", "addresses", "lengths", "ports", "frames")],
        *[(name, np.int64) for name in ("way", "chosen", "until_ns", "holds_ns", "batches")],
        *[(name, np.int64) for name in ("together_ns", "together_frames", "alone_ns", "alone_frames", "way_padding")],
        ("turn", np.int32),
        ("asleep", np.int32),
        ("stop", np.int32),
        ("first_padding", np.int32),
        ("second_padding", np.int64, 8),
        ("left", np.int32),
        ("waiting", np.int32),
        ("third_padding", np.int64, 7),
        ("begun", np.int64, CLAIM_WORDS * MOST_CORES),
    ],
    align=True,
)
"""way     TRY_TOGETHER and so on
chosen  the last choice, which holds until_ns, for holds_ns
batches of this part of a trial so far; then what both parts took
turn    number of the batch, mod 2^32; the word that threads sleep on
asleep  how many do
left    cores that have not finished the batch; the word that the caller sleeps on
waiting whether it does
begun   by core, a cache line for each: the last turn of which the part has been claimed
"""
TURN, ASLEEP, STOP = offset_of(THREAD_POOL, "turn"), offset_of(THREAD_POOL, "asleep"), offset_of(THREAD_POOL, "stop")
LEFT, WAITING, BEGUN = (
    offset_of(THREAD_POOL, "left"),
    offset_of(THREAD_POOL, "waiting"),
    offset_of(THREAD_POOL, "begun"),
)
thread_pool_at = record_at(THREAD_POOL)


@njit
def serve_together(address: int, addresses: int, lengths: int, ports: int, frames: int) -> None:
    """A batch, by all cores or by the caller alone; returns when it is done."""
    pool = thread_pool_at(address)
    started_ns = monotonic_ns()
    if pool.way == TRY_ALONE or pool.way == ALONE:
        for core in range(pool.cores):
            serve(pool.server, core, addresses, lengths, ports, frames)
        ended_ns = waits_ns = monotonic_ns()
    else:
        hand_over(address, addresses, lengths, ports, frames)
        turn = load_acquire32(address + TURN)
        serve(pool.server, 0, addresses, lengths, ports, frames)
        for core in range(1, pool.cores):
            if begins(address, core, turn):
                serve(pool.server, core, addresses, lengths, ports, frames)
                atomic_add32(address + LEFT, -1)
        waits_ns = monotonic_ns()
        wait_for_all(address)
        ended_ns = monotonic_ns()
    note_batch(address, frames, waits_ns - started_ns, ended_ns - waits_ns, ended_ns)


@njit
def hand_over(address: int, addresses: int, lengths: int, ports: int, frames: int) -> None:
    """Publish the batch to all threads."""
    pool = thread_pool_at(address)
    pool.addresses, pool.lengths, pool.ports, pool.frames = (
        addresses,
        lengths,
        ports,
        frames,
    )
    store_release32(address + LEFT, pool.cores - 1)
    store_release32(address + TURN, (load_acquire32(address + TURN) + 1) & 0xFFFFFFFF)
    fence()
    if load_acquire32(address + ASLEEP) != 0:
        futex_wake(address + TURN, pool.cores)


@njit
def note_batch(address: int, frames: int, worked_ns: int, waited_ns: int, now_ns: int) -> None:
    """After a batch: how long the caller worked and then waited; the way of the next."""
    pool = thread_pool_at(address)
    if waited_ns > max(LATE_NS, worked_ns):
        choose(pool, ALONE, now_ns)
    elif pool.way == TRY_TOGETHER:
        pool.together_ns += worked_ns + waited_ns
        pool.together_frames += frames
        pool.batches += 1
        if pool.batches == TRIAL:
            pool.way, pool.batches = TRY_ALONE, 0
    elif pool.way == TRY_ALONE:
        pool.alone_ns += worked_ns
        pool.alone_frames += frames
        pool.batches += 1
        if pool.batches == TRIAL:
            is_faster = pool.together_ns * pool.alone_frames < pool.alone_ns * pool.together_frames
            choose(pool, TOGETHER if is_faster else ALONE, now_ns)
    elif now_ns >= pool.until_ns:
        pool.way = TRY_TOGETHER


@njit
def choose(pool: Any, way: int, now_ns: int) -> None:
    """TOGETHER or ALONE, until the next trial."""
    pool.holds_ns = min(2 * pool.holds_ns, LONGEST_NS) if way == pool.chosen else SHORTEST_NS
    pool.way, pool.chosen, pool.until_ns = way, way, now_ns + pool.holds_ns
    (
        pool.batches,
        pool.together_ns,
        pool.together_frames,
        pool.alone_ns,
        pool.alone_frames,
    ) = 0, 0, 0, 0, 0


@njit
def begins(address: int, core: int, turn: int) -> Any:
    """Claim a core's part of a turn; False if it has been claimed already. As every part is claimed once, a late claim
    for a turn that is over does not find the number of the turn before."""
    before = (turn - 1) & 0xFFFFFFFF
    return compare_exchange64(address + BEGUN + 8 * CLAIM_WORDS * core, before, turn) == before


@njit
def wait_for_all(address: int) -> None:
    """Wait until every thread has done its part."""
    started_ns = monotonic_ns()
    left = load_acquire32(address + LEFT)
    while left != 0:
        if monotonic_ns() - started_ns > SPIN_NS:
            store_release32(address + WAITING, 1)
            fence()
            left = load_acquire32(address + LEFT)
            if left != 0:
                futex_wait(address + LEFT, left, 1_000_000)
            store_release32(address + WAITING, 0)
        for _ in range(LOOKS):
            pause()
        left = load_acquire32(address + LEFT)


@njit
def follow(address: int, core: int) -> None:
    """One core's thread: its part of every batch, until STOP is set."""
    pool = thread_pool_at(address)
    seen = 0
    while True:
        seen = next_turn(address, seen)
        if load_acquire32(address + STOP) != 0:
            return
        if begins(address, core, seen):
            serve(
                pool.server,
                core,
                pool.addresses,
                pool.lengths,
                pool.ports,
                pool.frames,
            )
            left = atomic_add32(address + LEFT, -1)
            if left == 1 and load_acquire32(address + WAITING) != 0:
                futex_wake(address + LEFT, 1)


@njit
def next_turn(address: int, seen: int) -> Any:
    """Look for another batch than ``seen``, then sleep until there is one."""
    started_ns = monotonic_ns()
    turn = load_acquire32(address + TURN)
    while turn == seen:
        for _ in range(LOOKS):
            pause()
        if monotonic_ns() - started_ns > SPIN_NS:
            atomic_add32(address + ASLEEP, 1)
            fence()
            if load_acquire32(address + TURN) == seen:
                futex_wait(address + TURN, seen, -1)
            atomic_add32(address + ASLEEP, -1)
        turn = load_acquire32(address + TURN)
    return turn


class ThreadPool:
    """The threads of a server with more than one core. Used as a context, or ended with `stop`."""

    def __init__(self, server: Any, *, pin: bool = False) -> None:
        """``server``: a RackServer. ``pin``: pin each core to a different processor, if there are enough (see
        ``processors``); the thread that calls the server's program is pinned by ``pin_caller``."""
        self._server = server
        self.record: Any = aligned_bytes(THREAD_POOL.itemsize).view(THREAD_POOL)
        self.record["server"], self.record["cores"] = server.address, server.cores
        self.address = address_of(self.record)
        self.processors = processors_for(server.cores) if pin else []
        """Processors by core; none where they are not pinned."""
        self._threads = [
            threading.Thread(target=self._follow, args=(core,), name=f"core-{core}", daemon=True)
            for core in range(1, server.cores)
        ]
        for thread in self._threads:
            thread.start()
        if self._threads:
            server.record["thread_pool"] = self.address

    def _follow(self, core: int) -> None:
        if self.processors:
            os.sched_setaffinity(0, {self.processors[core]})  # of this thread alone
        follow(self.address, core)

    def pin_caller(self, thread: int) -> None:
        """``thread``: the system's number of the one that is core 0."""
        if self.processors:
            os.sched_setaffinity(thread, {self.processors[0]})

    def stay_together(self) -> None:
        """No trials until a batch is held up: for measurements, between batches."""
        self.record["way"], self.record["until_ns"] = TOGETHER, np.iinfo(np.int64).max

    def stop(self) -> None:
        """End the threads; the server goes on with one. Not while a batch is processed."""
        self._server.record["thread_pool"] = 0
        if self._threads:
            stop(self.address)
        for thread in self._threads:
            thread.join()
        self._threads = []

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@njit
def stop(address: int) -> None:
    """End all threads."""
    store_release32(address + STOP, 1)
    store_release32(address + TURN, (load_acquire32(address + TURN) + 1) & 0xFFFFFFFF)
    futex_wake(address + TURN, 1 << 16)
