"""The base of drivers: one thread that owns the connection, reconnects with backoff, and carries out orders.

A driver implements how one connection is served and how it ends.
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
from hostagent.controller.drivers.job import JobConfig
from hostagent.controller.drivers.watched_stream import loop_here

FIRST_BACKOFF_S, LONGEST_BACKOFF_S = 0.1, 1.0
"""Backoff between attempts to connect."""
STOP_TIMEOUT_S = 10.0

log = logging.getLogger("netsum.controller")


class ReconnectingDriver(ABC):
    """The part of hostagent.controller.drivers.driver.Driver that does not depend on what is driven."""

    def __init__(self) -> None:
        self._orders: SimpleQueue[JobConfig | int | None] = SimpleQueue()
        """A job to install, the number of one to remove, or None: check whether to stop or reconnect."""
        self._installed: dict[int, JobConfig] = {}
        self._stopping = threading.Event()
        self._broken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="netsum-driver", daemon=True)
        self._events: DriverEvents | None = None
        self._loop: asyncio.AbstractEventLoop

    @property
    @abstractmethod
    def name(self) -> str:
        """Name for people."""

    @abstractmethod
    def _serve(self, events: DriverEvents) -> None:
        """One connection, from its beginning to its end."""

    @abstractmethod
    def _describe(self, error: Exception) -> tuple[str, bool] | None:
        """The reason to report for an expected error of ``_serve``, and whether it is permanent; None: a defect."""

    def start(self, events: DriverEvents, installed: Sequence[JobConfig]) -> None:
        """See Driver. Streams live on the caller's event loop."""
        self._events = events
        self._loop = loop_here()
        self._installed = {config.job: config for config in installed}
        self._thread.start()

    def install(self, config: JobConfig) -> None:
        """See Driver."""
        self._orders.put(config)

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
        backoff_s = FIRST_BACKOFF_S
        while not self._stopping.is_set():
            reason, permanent = "the connection ended", False
            self._broken.clear()
            try:
                self._serve(self._events)
                backoff_s = FIRST_BACKOFF_S
            except Exception as error:
                known = self._describe(error)
                if known is None:
                    log.exception("the driver failed")
                reason, permanent = known or (f"the driver failed: {error!r}", False)
            if not self._stopping.is_set():
                self._events.lost(f"{self.name}: {reason}", permanent=permanent)
                self._stopping.wait(backoff_s)
                backoff_s = min(2 * backoff_s, LONGEST_BACKOFF_S)

    def _on_broken(self) -> None:
        """The connection has ended; from any thread."""
        self._broken.set()
        self._orders.put(None)

    def _forget_old_orders(self) -> None:
        """Orders from before the connection broke: the core repeats them after `ready`."""
        while True:
            try:
                order = self._orders.get_nowait()
            except Empty:
                return
            if isinstance(order, int):
                self._installed.pop(order, None)

    def _carry_out_orders(
        self,
        install: Callable[[JobConfig], None],
        remove: Callable[[int], None],
        check: Callable[[], None] = lambda: None,
        check_interval_s: float = 3600.0,
    ) -> None:
        """Carries out orders until there is a reason to reconnect; calls ``check`` every ``check_interval_s``."""
        check_s = time.monotonic() + check_interval_s
        while not self._stopping.is_set() and not self._broken.is_set():
            try:
                order = self._orders.get(timeout=max(0.0, check_s - time.monotonic()))
            except Empty:
                check()
                check_s = time.monotonic() + check_interval_s
                continue
            if isinstance(order, JobConfig):
                install(order)
            elif order is not None:
                self._installed.pop(order, None)
                remove(order)
