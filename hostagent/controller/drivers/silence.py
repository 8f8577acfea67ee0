"""Aggregators that take connections and do not answer: stopped, or stuck. Nothing breaks then, so nobody is told.

(One that ended refuses connections; its driver says so, and whoever started it starts it again.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import grpc

LOOK_S = 2.5
PING_TIMEOUT_S = 2.0
SILENT_S = 10.0


class SilenceWatch:
    """Turns the looks at aggregators into messages; without a clock of its own."""

    def __init__(self) -> None:
        self._since_s: dict[str, float] = {}
        """When an aggregator that is silent answered last."""
        self._answered_s = 0.0
        self.silent: list[str] = []
        """Those that have been silent for SILENT_S."""

    def look(self, silent: Sequence[str], began_s: float) -> bool:
        """Take the names of those that did not answer a look that began then; whether `silent` has changed."""
        self._since_s = {name: self._since_s.get(name, self._answered_s or began_s) for name in silent}
        if not silent:
            self._answered_s = began_s
        before = self.silent
        late_s = began_s + PING_TIMEOUT_S
        self.silent = [name for name, since_s in self._since_s.items() if late_s - since_s >= SILENT_S]
        return self.silent != before


def is_silent(call: Callable[[], object]) -> bool:
    """Whether a call with a time-out gets no answer; a refusal is one."""
    try:
        call()
    except grpc.RpcError as error:
        return isinstance(error, grpc.Call) and error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    return False


def advice(silent: Sequence[str], limit_s: int) -> str:
    """What people are told of silent aggregators, by `title`. ``limit_s``: how long jobs wait for one that is lost."""
    return (
        f"{'; '.join(silent)}: no answer for {SILENT_S:g} s. Ranks wait for their sums; jobs fail {limit_s} s after "
        "the connection is lost. If the process was stopped (SIGSTOP), `kill -CONT PID` lets it go on; if it hangs, "
        "end it and start it again at the same address: jobs that only sum go on where they were"
    )


def title(name: str, pid: int) -> str:
    """An aggregator and its process, where that is known (0: it is not)."""
    return f"the aggregator {name} (process {pid})" if pid else f"the aggregator {name}"
