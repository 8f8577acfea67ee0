"""What the drivers have in common: one thread that owns the connection, connects again, and carries out orders.

A driver says how one connection is served and how it ends; this says when there is one.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

from hostagent.controller.drivers.driver import DriverEvents
from hostagent.controller.drivers.held_stream import loop_here
from hostagent.controller.drivers.p4.entries import JobEntries

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 1.0
"""Between attempts to connect."""
STOP_TIMEOUT_S = 10.0

log = logging.getLogger("netsum.controller")


class ConnectedDriver(ABC):
    """The part of hostagent.controller.drivers.driver.Driver that does not depend on what is driven."""

    def __init__(self) -> None:
        self._orders: SimpleQueue[JobEntries | int | None] = SimpleQueue()
        """A job to tell, the number of one to forget, or None: look up."""
        self._told: dict[int, JobEntries] = {}
        self._stopping = threading.Event()
        self._broken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="netsum-driver", daemon=True)
        self._events: DriverEvents | None = None
        self._loop: asyncio.AbstractEventLoop

    @property
    @abstractmethod
    def name(self) -> str:
        """For people."""

    @abstractmethod
    def _serve(self, events: DriverEvents) -> None:
        """One connection, from its beginning to its end."""

    @abstractmethod
    def _why(self, error: Exception) -> tuple[str, bool] | None:
        """What an expected error of ``_serve`` means, and whether to try again is hopeless; None: it is a defect."""

    def start(self, events: DriverEvents, told: Sequence[JobEntries]) -> None:
        """See Driver. Streams live on the caller's event loop."""
        self._events = events
        self._loop = loop_here()
        self._told = {entries.job: entries for entries in told}
        self._thread.start()

    def install(self, entries: JobEntries) -> None:
        """See Driver."""
        self._orders.put(entries)

    def remove(self, job: int) -> None:
        """See Driver."""
        self._orders.put(job)

    def stop(self) -> None:
        """See Driver."""
        self._stopping.set()
        self._orders.put(None)
        if self._thread.is_alive():
            self._thread.join(STOP_TIMEOUT_S)

    def _run(self) -> None:
        assert self._events is not None, "start sets it"
        pause_s = FIRST_PAUSE_S
        while not self._stopping.is_set():
            why, hopeless = "the connection ended", False
            self._broken.clear()
            try:
                self._serve(self._events)
                pause_s = FIRST_PAUSE_S
            except Exception as error:
                known = self._why(error)
                if known is None:
                    log.exception("the driver failed")
                why, hopeless = known or (f"the driver failed: {error!r}", False)
            if not self._stopping.is_set():
                self._events.lost(f"{self.name}: {why}", hopeless=hopeless)
                self._stopping.wait(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _on_broken(self) -> None:
        """The connection has ended; from any thread."""
        self._broken.set()
        self._orders.put(None)

    def _forget_old_orders(self) -> None:
        """Orders from before the connection broke: the core gives them anew once it hears `ready`."""
        while True:
            try:
                order = self._orders.get_nowait()
            except Empty:
                return
            if isinstance(order, int):
                self._told.pop(order, None)

    def _obey(
        self,
        install: Callable[[JobEntries], None],
        remove: Callable[[int], None],
        look: Callable[[], None] = lambda: None,
        look_interval_s: float = 3600.0,
    ) -> None:
        """Carries out orders until there is a reason to connect again; ``look`` every so often."""
        look_s = time.monotonic() + look_interval_s
        while not self._stopping.is_set() and not self._broken.is_set():
            try:
                order = self._orders.get(timeout=max(0.0, look_s - time.monotonic()))
            except Empty:
                look()
                look_s = time.monotonic() + look_interval_s
                continue
            if isinstance(order, JobEntries):
                install(order)
            elif order is not None:
                self._told.pop(order, None)
                remove(order)
