"""Starts staged calls, in order, on a thread that may wait for a device."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

CLOSE_S = 5.0
"""The most that ``close`` waits for a device."""


class Starter:
    """One thread of one process group, which starts with the first call and is a daemon."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition()
        self._waiting: deque[Callable[[], None]] = deque()
        self.unstarted = 0
        """Calls that were put and have not been started."""
        self._thread: threading.Thread | None = None
        self._closed = False

    def put(self, start: Callable[[], None]) -> None:
        """Have ``start``, which raises nothing, called after all that were put before."""
        with self._changed:
            self._waiting.append(start)
            self.unstarted += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def drain(self, timeout_s: float) -> bool:
        """Block until all that was put has been started; False when the time ran out first."""
        if not self.unstarted:
            return True
        with self._changed:
            return self._changed.wait_for(lambda: not self.unstarted, timeout_s)

    def close(self) -> None:
        """End the thread once all has been started: no call of torch's may run in it when the process ends."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(CLOSE_S)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
                start = self._waiting.popleft()
            start()
            del start  # with its tensors
            with self._changed:
                self.unstarted -= 1
                self._changed.notify_all()
