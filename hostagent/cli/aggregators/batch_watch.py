"""A core in Python that does not come back from a batch is named, with the line where it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from emulator.native.periodic import PeriodicThread

LOOK_S = 2.5
LONG_S = 10.0
"""Time in one call of ``process`` that is reported: ranks wait for their sums, and their operations have time-outs."""
SECOND_NS = 1_000_000_000


class RunsBatches(Protocol):
    """`CoreRunner`, as far as it is watched."""

    batch_began_ns: int
    """When the core got the batch that it is processing (``time.monotonic_ns``); 0: none."""
    batch_thread: int
    """Python's identifier of the thread that processes it."""


class BatchWatch:
    """Checks the current batch every ``LOOK_S`` in a thread, from `start` to `stop`."""

    def __init__(self, name: str, runner: RunsBatches, report: Callable[[str], None]) -> None:
        """``name``: the core's; ``report``: called with a message for the operator."""
        self._name, self._runner, self._report = name, runner, report
        self._reported_ns = 0
        """Beginning of the batch that has been reported; 0: none."""
        self._thread = PeriodicThread(lambda: self.look(time.monotonic_ns()), LOOK_S, "batch watch")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop()

    def look(self, now_ns: int) -> None:
        """Report a batch that takes long, once, and its end."""
        began_ns = self._runner.batch_began_ns
        if self._reported_ns and began_ns != self._reported_ns:
            self._reported_ns = 0
            self._report(f"{self._name}: process() has returned; sums go on")
        seconds = (now_ns - began_ns) // SECOND_NS if began_ns else 0
        if seconds >= LONG_S and not self._reported_ns:
            self._reported_ns = began_ns
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
