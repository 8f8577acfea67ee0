"""The timers of entries with an idle time-out.

The switch keeps the time of each entry's last hit. Polling all entries would be slow, so an entry is checked when its
time-out can first have expired: one time-out after the last hit that is known.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class IdleTimers(Generic[Key]):
    """Times are the switch's, in nanoseconds."""

    def __init__(self) -> None:
        self._calendar: list[tuple[int, int, Key]] = []
        self._tickets: dict[Key, int] = {}
        """The valid timer of each key; replaced ones stay in the heap until they expire."""
        self._numbers = itertools.count()

    def __bool__(self) -> bool:
        return bool(self._tickets)

    def set(self, key: Key, due_ns: int) -> None:
        """Make ``key`` due at ``due_ns`` only."""
        ticket = next(self._numbers)
        self._tickets[key] = ticket
        heapq.heappush(self._calendar, (due_ns, ticket, key))
        if len(self._calendar) > 2 * len(self._tickets) + 64:
            self._tidy()

    def forget(self, key: Key) -> None:
        self._tickets.pop(key, None)

    def take_due(self, now_ns: int) -> Iterator[Key]:
        """The keys that are due, each once; a key is due again only after ``set``."""
        while self._calendar and self._calendar[0][0] <= now_ns:
            _, ticket, key = heapq.heappop(self._calendar)
            if self._tickets.get(key) == ticket:
                yield key

    def _tidy(self) -> None:
        self._calendar = [item for item in self._calendar if self._tickets.get(item[2]) == item[1]]
        heapq.heapify(self._calendar)
