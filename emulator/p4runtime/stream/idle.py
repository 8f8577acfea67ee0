"""When entries with a time-out may next have been idle for too long: a calendar that looks at nothing else.

The switch keeps when each entry was last hit. Asking all of them again and again would be slow with many entries, so an
entry is looked at when its time-out can first have passed: a time-out after its last hit that is known.
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
        """The one date of each key that counts; older ones stay in the calendar until they come up."""
        self._numbers = itertools.count()

    def __bool__(self) -> bool:
        return bool(self._tickets)

    def set(self, key: Key, due_ns: int) -> None:
        """Look at ``key`` at ``due_ns``, and at no other time."""
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
