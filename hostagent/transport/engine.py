"""The process' transport thread: one port, one compiled loop, any number of jobs."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of
from emulator.ports.batch import FrameBatch
from emulator.ports.host import HostPort
from emulator.ports.spec import PortKind
from hostagent.transport.loop.calls import publish_word, wake
from hostagent.transport.loop.records import (
    ENGINE,
    ENGINE_SLOTS_USED,
    ENGINE_STOP,
    LEAST_STALL_NS,
    LOOP,
    MAX_JOBS,
    RECEIVE_MOST,
)
from hostagent.transport.loop.turns import run_loop
from hostagent.transport.session.terms import pack_heartbeat

JOB_NUMBERS = 1 << 16
SPIN_NS = 30_000
"""Looking around costs less than sleeping and being woken, where a core is free for it."""


class Engine:
    """Owns the port until ``stop``."""

    def __init__(self, port: HostPort, heartbeat: tuple[str, int] | None, token: int) -> None:
        self.port = port
        self._batch = FrameBatch(RECEIVE_MOST)
        self._jobs: NDArray[np.int64] = np.zeros(MAX_JOBS, np.int64)
        self._kept: dict[int, NDArray[Any]] = {}
        self._slot_of_job: NDArray[np.uint8] = np.zeros(JOB_NUMBERS, np.uint8)
        self._heartbeat_frame = np.frombuffer(pack_heartbeat(token, 0), np.uint8).copy()
        self._heartbeat_socket = heartbeat_socket(heartbeat) if heartbeat else None
        self.record = self._make_record()
        self.address = address_of(self.record)
        """Address of the ENGINE record."""
        self._thread = threading.Thread(target=self._run, name="netsum-transport", daemon=True)
        self.serves_large = False
        """The last argument of ``serve_large``."""
        self._lock = threading.Lock()

    def _make_record(self) -> NDArray[Any]:
        record = np.zeros(1, ENGINE)
        record["port"] = self.port.address
        record["sleeper"] = self.port.sleeper_address
        record["batch"] = self._batch.record_address
        record["jobs"] = address_of(self._jobs)
        record["slot_of_job"] = address_of(self._slot_of_job)
        record["heartbeat_socket"] = self._heartbeat_socket.fileno() if self._heartbeat_socket else -1
        record["heartbeat_frame"] = address_of(self._heartbeat_frame)
        record["stall_ns"] = LEAST_STALL_NS
        record["spin_ns"] = _spin_ns()
        if self.port.spec.kind in (PortKind.SHM, PortKind.MEMORY):
            record["second_sleeper"] = self.port.bell.second_sleeper_address
        return record

    def start(self) -> None:
        """Start the thread; it takes the GIL only to load the compiled loop."""
        self._thread.start()

    def _run(self) -> None:
        run_loop(self.address)

    def serve_large(self, large: bool) -> None:
        """Whether the operations to come are large, so that throughput counts more than the latency of a wake-up.

        Then the loop's thread has the policy SCHED_BATCH (sched(7)): when the switch wakes it, it does not preempt the
        switch, which goes on with the rest of the window. With the usual policy, and more threads than cores, ranks and
        switch work in turns instead of side by side: two ranks take a quarter longer for 64 MiB."""
        thread = self._thread.native_id
        if thread is None:
            return
        self.serves_large = large
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            if os.sched_getscheduler(thread) in (os.SCHED_OTHER, os.SCHED_BATCH):  # a real-time policy is the user's
                os.sched_setscheduler(thread, os.SCHED_BATCH if large else os.SCHED_OTHER, os.sched_param(0))

    def serve(self, number: int, job: NDArray[Any]) -> None:
        """Have the loop serve a JOB record, until that job's DETACH is carried out."""
        with self._lock:
            free = np.flatnonzero(self._jobs == 0)
            if not len(free):
                raise RuntimeError(f"a process can be in {MAX_JOBS} process groups at a time; destroy some")
            slot = int(free[0])
            self._slot_of_job[number] = slot + 1
            self._kept[slot] = job  # the turn that carries out DETACH looks at it once more
            publish_word(address_of(self._jobs) + 8 * slot, address_of(job))
            publish_word(self.address + ENGINE_SLOTS_USED, max(slot + 1, int(self.record["slots_used"][0])))
        self.wake()

    def wake(self) -> None:
        """Make the loop look at everything once more."""
        wake(self.port.address, self.port.bell.address, self.port.bell.writing_end)

    def end_lending(self) -> None:
        """In a forked child, which has the turns' lock as it was: they are not to be had."""
        self.record["driver"] = LOOP

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """End the loop and leave the port; all jobs must have been detached."""
        publish_word(self.address + ENGINE_STOP, 1)
        if self._thread.ident is not None:
            self.wake()
            self._thread.join()
        self.port.close()
        if self._heartbeat_socket is not None:
            self._heartbeat_socket.close()


def heartbeat_socket(address: tuple[str, int]) -> socket.socket:
    """A socket that never blocks and needs no address with each datagram."""
    made = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET, socket.SOCK_DGRAM)
    made.setblocking(False)
    made.connect(address)
    return made


def _spin_ns() -> int:
    """Nothing where this machine's ranks and their switch outnumber the cores: looking around would hold up a peer."""
    neighbours = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return SPIN_NS if neighbours + 1 <= len(os.sched_getaffinity(0)) else 0
