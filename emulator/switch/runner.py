"""The live loop: frames from all ports to the program's machine code and back, without Python and without the GIL.

A turn takes at most ``PER_PORT`` frames from each port, calls ``process``, gives the frames back and sends what came
out. When a turn has moved nothing the loop looks around for ``spin_ns`` and then sleeps on the process's bell until a
host rings, a socket has input or a timer is due; with nothing to do it costs nothing.

Control changes happen between slices: ``paused()`` makes the loop return to Python, holds the switch's lock, and lets
the loop go on. The loop itself holds that lock during a slice, so nobody else ever sees the switch in mid batch.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from emulator.ports.batch import (
    BATCH_ADDRESSES,
    BATCH_COUNT,
    BATCH_LENGTHS,
    BATCH_PORTS,
    FrameBatch,
    address_of,
    aligned_bytes,
    offset_of,
)
from emulator.ports.bell import Bell, bell_cancel, bell_prepare, bell_sleep
from emulator.ports.host import SPIN_NS, SPINS_PER_CLOCK
from emulator.ports.intrinsics import call_address, load_acquire64, monotonic_ns, pause, read64, write64
from emulator.ports.jit import njit
from emulator.ports.port import (
    SwitchPort,
    port_flush,
    port_has_input,
    port_next_ns,
    port_receive,
    port_refresh,
    port_release,
)
from emulator.ports.spec import PortKind

PER_PORT = 64
"""Frames taken from a port in one turn: enough to hide a turn's fixed cost, few enough that every port is served soon
(64 frames of 256 lanes take the program about 15 us)."""

RUN = np.dtype(
    [
        (name, "<i8")
        for name in (
            "attention",  # not 0: return to Python
            "ports",  # address of port_count addresses of PORT records
            "port_count",
            "first_port",  # where the next turn begins, so that no port is always last
            "batch",
            "sleeper",
            "program",  # address of process(), or 0
            "context",
            "spin_ns",
            "turns",
            "frames",
            "sleeps",
            "no_program",  # frames dropped because no program was loaded
        )
    ]
)
ATTENTION = offset_of(RUN, "attention")
PORTS = offset_of(RUN, "ports")
PORT_COUNT = offset_of(RUN, "port_count")
FIRST_PORT = offset_of(RUN, "first_port")
BATCH = offset_of(RUN, "batch")
SLEEPER = offset_of(RUN, "sleeper")
PROGRAM = offset_of(RUN, "program")
CONTEXT = offset_of(RUN, "context")
SPIN = offset_of(RUN, "spin_ns")
TURNS = offset_of(RUN, "turns")
FRAMES = offset_of(RUN, "frames")
SLEEPS = offset_of(RUN, "sleeps")
NO_PROGRAM = offset_of(RUN, "no_program")


@njit
def _add(address: int, value: int) -> None:
    write64(address, read64(address) + value)


@njit
def _gather(run: int, now_ns: int) -> Any:
    """Fill the batch from all ports; how many entries the ports took."""
    batch, ports, count = read64(run + BATCH), read64(run + PORTS), read64(run + PORT_COUNT)
    write64(batch + BATCH_COUNT, 0)
    first = read64(run + FIRST_PORT)
    taken = 0
    for step in range(count):
        port = read64(ports + 8 * ((first + step) % count))
        port_refresh(port)
        taken += port_receive(port, batch, PER_PORT, now_ns)
    write64(run + FIRST_PORT, first + 1)
    return taken


@njit
def _process(run: int, now_ns: int) -> None:
    """Give the batch to the program. Programs have no timers of their own, so what process() returns is not used."""
    batch = read64(run + BATCH)
    count = read64(batch + BATCH_COUNT)
    program = read64(run + PROGRAM)
    if count == 0:
        return
    if program == 0:
        _add(run + NO_PROGRAM, count)
        return
    call_address(
        program,
        read64(run + CONTEXT),
        read64(batch + BATCH_ADDRESSES),
        read64(batch + BATCH_LENGTHS),
        read64(batch + BATCH_PORTS),
        count,
        now_ns,
    )
    _add(run + FRAMES, count)


@njit
def _turn(run: int) -> Any:
    """One turn; how much was moved."""
    now_ns = monotonic_ns()
    moved = _gather(run, now_ns)
    _process(run, now_ns)
    ports = read64(run + PORTS)
    for index in range(read64(run + PORT_COUNT)):
        port_release(read64(ports + 8 * index))
    for index in range(read64(run + PORT_COUNT)):
        moved += port_flush(read64(ports + 8 * index), now_ns)
    _add(run + TURNS, 1)
    return moved


@njit
def _wanted(run: int) -> bool:
    """Whether there is something to do that memory tells of."""
    reasons = load_acquire64(run + ATTENTION)
    ports = read64(run + PORTS)
    for index in range(read64(run + PORT_COUNT)):
        reasons += port_has_input(read64(ports + 8 * index))
    return reasons != 0


@njit
def _wait_ns(run: int, now_ns: int) -> int:
    """How long to sleep at most; -1: for ever."""
    soonest = -1
    ports = read64(run + PORTS)
    for index in range(read64(run + PORT_COUNT)):
        due = port_next_ns(read64(ports + 8 * index), now_ns)
        if due >= 0 and (soonest < 0 or due < soonest):
            soonest = due
    return -1 if soonest < 0 else max(0, soonest - now_ns)


@njit
def _idle(run: int) -> None:
    """Look around for a while, then sleep. See ``bell`` for why no wake-up is lost."""
    start_ns = now_ns = monotonic_ns()
    wait_ns = _wait_ns(run, now_ns)
    look_ns = read64(run + SPIN) if wait_ns < 0 else min(read64(run + SPIN), wait_ns)
    while now_ns - start_ns < look_ns:
        for _ in range(SPINS_PER_CLOCK):
            pause()
            if _wanted(run):
                return
        now_ns = monotonic_ns()
    if wait_ns >= 0:
        wait_ns = max(0, wait_ns - (now_ns - start_ns))
    if wait_ns == 0:
        return
    sequence = bell_prepare(read64(run + SLEEPER))
    if _wanted(run):
        bell_cancel(read64(run + SLEEPER))
        return
    _add(run + SLEEPS, 1)
    bell_sleep(read64(run + SLEEPER), sequence, wait_ns)


@njit
def run_slice(run: int) -> None:
    """Serve the ports until attention is asked for."""
    while load_acquire64(run + ATTENTION) == 0:
        if _turn(run) == 0:
            _idle(run)


class Program(Protocol):
    """What the loop needs of a switch."""

    @property
    def program_address(self) -> int:
        """Machine code ``int64 process(context, addresses, lengths, ports, count, now_ns)``; 0: no program."""

    @property
    def context_address(self) -> int:
        """Its first argument."""


@dataclass(frozen=True, slots=True)
class RunnerStatistics:
    """What the loop has done."""

    turns: int
    frames: int
    """Given to the program."""
    sleeps: int
    no_program: int
    """Dropped because no program was loaded."""


class SwitchRunner:
    """Serves a switch's ports, in a thread of its own (``start``) or the caller's (``run``).

    ``lock`` is what the switch's owner holds for control changes; ``paused`` takes it.
    """

    def __init__(
        self,
        switch: Program,
        ports: Sequence[SwitchPort],
        bell: Bell,
        *,
        lock: threading.Lock | None = None,
        spin_ns: int = SPIN_NS,
    ) -> None:
        self.switch = switch
        self.ports = tuple(ports)
        self.bell = bell
        self.lock = lock or threading.Lock()
        self._changed = threading.Condition()
        self._pauses = 0
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._batch = FrameBatch(max(1, len(self.ports)) * PER_PORT)
        self._addresses = np.array([port.address for port in self.ports], np.int64)
        self._record: Any = aligned_bytes(RUN.itemsize).view(RUN)
        self._address = address_of(self._record)
        # looking around sees memory only, so it is for cables
        looks = any(port.spec.kind is not PortKind.UDP for port in self.ports)
        self._configure(spin_ns if looks else 0)
        self._warm_up()

    def _configure(self, spin_ns: int) -> None:
        self._record["ports"] = address_of(self._addresses)
        self._record["port_count"] = len(self.ports)
        self._record["batch"] = self._batch.record_address
        self._record["sleeper"] = self.bell.sleeper_address
        self._record["spin_ns"] = spin_ns

    def _warm_up(self) -> None:
        """Load the loop's machine code now, rather than when the first frame waits."""
        self._record["attention"] = 1
        run_slice(self._address)
        self._record["attention"] = 0

    def run(self) -> None:
        """Serve until stop(). Blocks without the GIL."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or not self._pauses)
                if self._stopping:
                    return
            with self.lock:
                self._take_program()
                run_slice(self._address)

    def _take_program(self) -> None:
        """The program may be another one since the last slice."""
        self._record["program"] = self.switch.program_address
        self._record["context"] = self.switch.context_address

    def start(self) -> SwitchRunner:
        """Serve in a thread."""
        self._thread = threading.Thread(target=self._run_thread, name="switch", daemon=True)
        self._thread.start()
        return self

    def _run_thread(self) -> None:
        try:
            self.run()
        except BaseException as error:
            self._failure = error

    def stop(self) -> None:
        """End run(), and the thread if there is one; raises what ended it early. The ports stay open."""
        with self._changed:
            self._stopping = True
            self._interrupt()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The switch between two batches, with its lock held. Not reentrant."""
        with self._changed:
            self._pauses += 1
            self._interrupt()
        try:
            with self.lock:
                yield
        finally:
            with self._changed:
                self._pauses -= 1
                if not self._pauses and not self._stopping:
                    self._record["attention"] = 0
                self._changed.notify_all()

    def _interrupt(self) -> None:
        """Make the loop return. The bell fences the store of attention before it looks whether the loop sleeps."""
        self._record["attention"] = 1
        self.bell.ring()
        self._changed.notify_all()

    def statistics(self) -> RunnerStatistics:
        """What the loop has done so far; may be called while it runs."""
        names = ("turns", "frames", "sleeps", "no_program")
        return RunnerStatistics(*(int(self._record[name][0]) for name in names))
