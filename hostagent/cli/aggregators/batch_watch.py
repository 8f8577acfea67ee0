"""A core in Python that does not come back from a batch is named, with the line where it is."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

LOOK_S = 2.5
LONG_S = 10.0
"""In one call of ``process``: ranks wait for their sums, and their operations have time-outs."""
SECOND_NS = 1_000_000_000


class RunsBatches(Protocol):
    """`CoreRunner`, as far as it is watched."""

    batch_began_ns: int
    """When the core got the batch that it is processing (``time.monotonic_ns``); 0: none."""
    batch_thread: int
    """Python's identifier of the thread that processes it."""


class BatchWatch:
    """Looks every so often from a thread of its own, until `stop`."""

    def __init__(self, name: str, runner: RunsBatches, report: Callable[[str], None]) -> None:
        """``name``: the core's; ``report``: called with a message for the operator."""
        self._name, self._runner, self._report = name, runner, report
        self._told_ns = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="batch watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_S):
            self.look(time.monotonic_ns())

    def look(self, now_ns: int) -> None:
        """Tell of a batch that takes long, once, and of its end."""
        began_ns = self._runner.batch_began_ns
        if self._told_ns and began_ns != self._told_ns:
            self._told_ns = 0
            self._report(f"{self._name}: process() has returned; sums go on")
        seconds = (now_ns - began_ns) // SECOND_NS if began_ns else 0
        if seconds >= LONG_S and not self._told_ns:
            self._told_ns = began_ns
            self._report(
                f"{self._name}: process() has not returned for {seconds} s, and all sums wait for it; it is "
                f"{_place_of(self._runner.batch_thread)}"
            )


def _place_of(thread: int) -> str:
    """Where a thread is: the innermost line of Python."""
    frame = sys._current_frames().get(thread)
    if frame is None:
        return "no longer running"
    code = frame.f_code
    return f"at {Path(code.co_filename).name}:{frame.f_lineno}, in {code.co_qualname}"
