"""The live loop: frames from all ports to the program's machine code and back, without Python and without the GIL.

``turns`` has the loop itself. Control operations happen between slices of it: ``paused()`` makes the loop return to
Python, takes the switch's lock, and lets the loop continue. The loop itself holds that lock during a slice, so nobody
else ever sees the switch within a batch.

Where all ports are capture files, time is that of the files, and the loop ends after the last frame.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.batch import FrameBatch
from emulator.ports.cable.bell import Bell
from emulator.ports.host import SPIN_NS
from emulator.ports.loop.turns import PER_PORT, RUN, TURN_BYTES, run_slice
from emulator.ports.port import SwitchPort, port_has_input
from emulator.ports.spec import PortKind


def warm_loop() -> None:
    """Compile the loop, or load it, with no port yet: frames that come from outside should not have to wait for it."""
    record: Any = aligned_bytes(RUN.itemsize).view(RUN)
    record["attention"] = 1
    run_slice(address_of(record))


class Program(Protocol):
    """What the loop needs of a switch."""

    @property
    def program_address(self) -> int:
        """Machine code ``int64 process(context, addresses, lengths, ports, count, now_ns)``; 0: no program. It returns
        when it is to be called at the latest though no frame comes, -1: never."""

    @property
    def context_address(self) -> int:
        """First argument of the machine code."""


@dataclass(frozen=True, slots=True)
class RunnerStatistics:
    """What the loop has done."""

    turns: int
    frames: int
    """Processed by the program."""
    sleeps: int
    no_program: int
    """Dropped because no program was loaded."""


class SwitchRunner:
    """Serves a switch's ports, in another thread (``start``) or the caller's (``run``).

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
        allowances: int = 0,
        starts_clock: bool = False,
    ) -> None:
        """``allowances``: address of an int32 for each port number, which the program may change while it is called:
        how many frames are taken from the port in a turn, PER_PORT at most. 0: that many from each.

        ``starts_clock``: the program's time is 0 now, as bmv2's time stamps count from the switch's start; otherwise it
        is CLOCK_MONOTONIC. Where all ports are capture files it is theirs.
        """
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
        self._virtual = bool(self.ports) and all(port.spec.kind is PortKind.PCAP for port in self.ports)
        if not self._virtual:
            for port in self.ports:
                port.go_live()
        self._start_ns = time.monotonic_ns() + max((port.spec.start_ns for port in self.ports), default=0)
        if starts_clock and not self._virtual:
            self._record["origin_ns"] = time.monotonic_ns()
        self._address = address_of(self._record)
        for port in self.ports:
            port.state["turn_bytes"] = TURN_BYTES
        self._configure(spin_ns if self._may_spin() else 0)
        self._record["allowances"] = allowances
        self._warm_up()

    def _may_spin(self) -> bool:
        """Only memory can be looked at: cables and interfaces' rings. Where the hosts of shared memory, which are on
        this machine, and the loop outnumber the cores, looking would hold up a host."""
        kinds = [port.spec.kind for port in self.ports]
        looks = any(kind not in (PortKind.UDP, PortKind.TCP, PortKind.PCAP) for kind in kinds)
        return looks and kinds.count(PortKind.SHM) + 1 <= len(os.sched_getaffinity(0))

    def _configure(self, spin_ns: int) -> None:
        self._record["ports"] = address_of(self._addresses)
        self._record["port_count"] = len(self.ports)
        self._record["batch"] = self._batch.record_address
        self._record["sleeper"] = self.bell.sleeper_address
        self._record["spin_ns"] = spin_ns
        self._record["virtual"] = self._virtual
        self._record["timer_ns"] = -1

    def _warm_up(self) -> None:
        """Load the loop's machine code now, rather than when the first frame waits."""
        self._record["attention"] = 1
        run_slice(self._address)
        self._record["attention"] = 0

    def run(self) -> None:
        """Serve until stop(), or the end of all capture files. Blocks without the GIL."""
        while not self._record["finished"]:
            with self._changed:
                self._wait_for_turn()
                if self._stopping:
                    return
            with self.lock:
                self._run_slice()
            for port in self.ports:
                port.attend()
                port.attend_capture()
        for port in self.ports:
            port.settle()

    def _wait_for_turn(self) -> None:
        """Wait until nobody holds the loop still; capture files also wait for a program, and for their start."""
        while not self._stopping:
            self._changed.wait_for(lambda: self._stopping or not self._pauses)
            left_ns = self._start_ns - time.monotonic_ns() if self._virtual else 0
            if self._virtual and not self.switch.program_address:
                self._changed.wait()
            elif left_ns > 0:
                self._changed.wait(left_ns / 1e9)
            else:
                return

    def _run_slice(self) -> None:
        """Serve until attention is requested. The program may have changed since the last slice."""
        self._record["program"] = self.switch.program_address
        self._record["context"] = self.switch.context_address
        run_slice(self._address)

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

    def packets_wait(self) -> bool:
        """Whether frames may be waiting: true for every socket, which only a system call can tell."""
        sockets = (PortKind.UDP, PortKind.TCP)
        return any(port.spec.kind in sockets or port_has_input(port.address) for port in self.ports)

    def now_ns(self) -> int:
        """The time that the program sees."""
        record = self._record
        return int(record["now_ns"][0]) if self._virtual else time.monotonic_ns() - int(record["origin_ns"][0])

    def statistics(self) -> RunnerStatistics:
        """What the loop has done so far; may be called while it runs."""
        names = ("turns", "frames", "sleeps", "no_program")
        return RunnerStatistics(*(int(self._record[name][0]) for name in names))
