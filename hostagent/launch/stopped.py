"""Processes of a run that were stopped (SIGSTOP): reported at once, and continued where a SIGTERM is pending.

A stopped process keeps its connections and its memory, so its peers notice nothing but a time-out.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

LOOK_S = 0.5

STOPPED_STATES = ("T", "t")
"""States of a process stopped by a signal, and by a debugger."""
ENDED_STATES = ("", "Z", "X")
"""States of one that is gone, or only waits for its parent."""


class StoppedProcesses:
    """Finds the stopped ones among a set of processes."""

    def __init__(self, on_change: Callable[[int, bool], None]) -> None:
        """``on_change``: called with a process' number and whether it is stopped, when that has changed."""
        self._on_change = on_change
        self._stopped: set[int] = set()
        self.ended: set[int] = set()
        """Processes that were stopped when they received SIGTERM."""

    def look(self, pids: list[int]) -> None:
        """Check these processes, report changes, and continue stopped ones that have a pending SIGTERM."""
        stopped = {pid for pid in pids if state_of(pid) in STOPPED_STATES}
        for pid in sorted(stopped ^ self._stopped):
            if pid in stopped or (pid in pids and pid not in self.ended):
                self._on_change(pid, pid in stopped)
        self._stopped = stopped
        for pid in stopped:
            if _is_to_end(pid):
                self.ended.add(pid)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)  # it then handles the pending SIGTERM


def state_of(pid: int) -> str:
    """The letter in /proc/PID/stat; empty where there is no such process."""
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def _is_to_end(pid: int) -> bool:
    """Whether a SIGTERM is pending for it."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(("ShdPnd:", "SigPnd:")) and int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
                return True
    return False
