"""Work that a thread repeats until it is stopped. Plain Python, here because every package needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable


class PeriodicThread:
    """A daemon thread that calls ``work`` every ``period_s`` seconds from `start` to `stop`, first after one period."""

    def __init__(self, work: Callable[[], object], period_s: float, name: str) -> None:
        self._work, self._period_s = work, period_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin. Once only."""
        self._thread.start()

    def stop(self, timeout_s: float | None = None) -> None:
        """End, also if it was never started. Returns when a call in progress has returned, or after ``timeout_s``."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._stopping.wait(self._period_s):
            self._work()
