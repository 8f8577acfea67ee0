"""Rendezvous of a service's ranks through torch's store before they rejoin, with the ranks that have left.

When the server dies one rank may have the last results and end, while another lacks them: that rank would wait for the
first in a new job until its time-out.
"""

from __future__ import annotations

import contextlib
import sys
import time
import weakref
from typing import Any

from hostagent.torch_backend.errors import NetsumError

POLL_S = 0.05
"""Interval between two polls of the store."""
MESSAGE_S = 5.0
"""Wait before a message on stderr."""


class Rendezvous:
    """One rank's end. Ranks that close, or whose process ends without a crash, have left."""

    def __init__(self, store: Any, name: str, rank: int, size: int) -> None:
        """``store``: torch's, shared by all ranks. ``name``: unique to them."""
        self._store, self._name, self._rank = store, name, rank
        self._others = [other for other in range(size) if other != rank]
        self._leave = weakref.finalize(self, _add_quietly, store, self._key("left", rank))

    def _key(self, what: str, rank: int) -> str:
        return f"netsum/{self._name}/{what}/{rank}"

    def leave(self) -> None:
        """Record that this rank will not rejoin."""
        self._leave()

    def gather(self, timeout_s: float) -> None:
        """Wait until all ranks have called this as many times as this one. Raises NetsumError, naming missing ranks."""
        began_s, has_printed = time.monotonic(), False
        try:
            times = self._store.add(self._key("again", self._rank), 1)
            while missing := [rank for rank in self._others if self._count("again", rank) < times]:
                gone = [rank for rank in missing if self._count("left", rank)]
                if gone:
                    raise NetsumError(
                        f"netsum: {_ranks(gone)} left the service before it was lost, and will not rejoin: "
                        "the last step is complete on some ranks only. Restart all ranks: they continue after the last "
                        "complete step of the server"
                    )
                waited_s = time.monotonic() - began_s
                if waited_s > min(MESSAGE_S, timeout_s / 2) and not has_printed:
                    has_printed = True
                    text = f"rank {self._rank} waits up to {timeout_s:g} s for {_ranks(missing)} to rejoin"
                    print(f"netsum: {text}; if they cannot, restart all ranks", file=sys.stderr, flush=True)
                if waited_s > timeout_s:
                    raise NetsumError(f"netsum: {_ranks(missing)} did not rejoin within {timeout_s:g} s")
                time.sleep(POLL_S)
        except RuntimeError as error:
            if isinstance(error, NetsumError):
                raise
            raise NetsumError(
                f"netsum: cannot rejoin: the rank that hosted torch's store has ended ({error})"
            ) from error

    def _count(self, what: str, rank: int) -> int:
        return int(self._store.add(self._key(what, rank), 0))


def _ranks(ranks: list[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def _add_quietly(store: Any, key: str) -> None:
    with contextlib.suppress(RuntimeError):  # the process that hosts the store has ended, and the ranks with it
        store.add(key, 1)
