"""What tests of a controller's drivers share: a job, and the events of a driver, in order."""

from __future__ import annotations

import queue
from typing import Any

from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.job import Child, JobConfig

WAIT_S = 20.0

JOB = JobConfig(
    job=5,
    row=2,
    epoch=1000,
    base=0,
    window=256,
    first_slot=0,
    short_allowed=True,
    switch_mac=0x026E73FFFFFE,
    switch_ip=0x0A4EFFFE,
    children=(Child(0, 1, 0x026E73000001, 0x0A4E0001, True), Child(1, 2, 0x026E73000002, 0x0A4E0002, False)),
)


class Events:
    """A driver's events, one after the other."""

    def __init__(self) -> None:
        self._seen: queue.Queue[tuple[Any, ...]] = queue.Queue()

    def ready(self, capacity: Capacity, state_lost: bool) -> None:
        self._seen.put(("ready", capacity, state_lost))

    def lost(self, why: str, *, permanent: bool = False) -> None:
        self._seen.put(("lost", why, permanent))

    def installed(self, job: int, epoch: int) -> None:
        self._seen.put(("installed", job, epoch))

    def install_failed(self, job: int, epoch: int, why: str) -> None:
        self._seen.put(("install_failed", job, epoch, why))

    def delivery_problem(self, job: int, why: str) -> None:
        self._seen.put(("troubled", job, why))

    def next(self, kind: str) -> tuple[Any, ...]:
        """The next event of a kind; `lost` may come any number of times while there is nothing to connect to."""
        while True:
            event = self._seen.get(timeout=WAIT_S)
            if event[0] == kind:
                return event[1:]
            assert event[0] == "lost", event
