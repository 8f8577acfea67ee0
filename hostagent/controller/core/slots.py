"""Who has which slots of an aggregator. Runs are powers of two and aligned to their size, so free runs merge again."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

SMALLEST_WINDOW = 8
LARGEST_WINDOW = 512


@dataclass(frozen=True, slots=True)
class Run:
    """Slots of a job."""

    first: int
    count: int
    """A power of two, or 0."""

    def contains(self, other: Run) -> bool:
        """Whether the other's slots are among these."""
        return self.first <= other.first and other.first + other.count <= self.first + self.count

    def overlaps(self, other: Run) -> bool:
        """Whether they have a slot in common."""
        return self.first < other.first + other.count and other.first < self.first + self.count


NOWHERE = Run(-1, 0)
"""That of nobody."""


@dataclass(slots=True)
class SlotAllocator:
    """Leases aligned runs of slots; knows nothing of jobs."""

    total: int
    largest_window: int = LARGEST_WINDOW
    """The most a single lease gets; a power of two."""
    leased: dict[int, int] = field(default_factory=dict)
    """First slot -> number of slots."""

    @property
    def free(self) -> int:
        """Slots that are not leased."""
        return self.total - sum(self.leased.values())

    @property
    def largest_lease(self) -> int:
        """The most that a lease could have if nothing were leased."""
        return min(self.largest_window, 1 << self.total.bit_length() >> 1)

    @property
    def least_lease(self) -> int:
        """The least that is any use: SMALLEST_WINDOW, if that is allowed."""
        return min(SMALLEST_WINDOW, self.largest_window)

    def lease_for_life(self) -> Run | None:
        """A run that will not change; None: there is none. It is at most a quarter of the slots for the first lease,
        and an eighth of the free ones for each further one while that leaves a usable window, so that there is room
        for many."""
        largest = self._largest_free_run()
        if largest < SMALLEST_WINDOW:
            return None
        share = self.free // 8 if self.leased else self.total // 4
        window = min(self.largest_window, largest, max(SMALLEST_WINDOW, 1 << share.bit_length() >> 1))
        return self.lease_at_most(window)

    def lease_at_most(self, window: int) -> Run:
        """The largest free run of up to ``window`` slots, which may be one of none."""
        window = min(window, self._largest_free_run())
        if not window:
            return Run(0, 0)
        first = min(self._free_runs(window), key=lambda start: self._run_around(start))
        self.leased[first] = window
        return Run(first, window)

    def moves_for(self, own: Run, window: int, movable: Set[Run]) -> dict[Run, Run]:
        """Where some of the movable leases could go, into what is free now, so that the holder of ``own`` could have a
        run of ``window`` slots then, or after further moves. Empty: there are no such moves, or none is needed."""
        others = [Run(first, count) for first, count in self.leased.items() if first != own.first]
        regions = [Run(first, window) for first in range(0, self.total - window + 1, window)]
        ways = [(region, [other for other in others if region.overlaps(other)]) for region in regions]
        for region, inside in sorted(ways, key=lambda way: sum(other.count for other in way[1])):
            moves = self._moves_out_of(region, inside, movable) if movable >= set(inside) else None
            if moves is not None:
                return moves
        return {}

    def _moves_out_of(self, region: Run, inside: list[Run], movable: Set[Run]) -> dict[Run, Run] | None:
        """New places for these leases, or moves that make such places; None: there are too few."""
        trial = SlotAllocator(self.total, leased={**self.leased, region.first: region.count})
        moves = {}
        for run in sorted(inside, key=lambda run: -run.count):
            moves[run] = trial.lease_at_most(run.count)
            if moves[run].count < run.count:
                trial.give_back(moves[run])
                smaller = {other for other in movable if other.count < run.count}
                return trial.moves_for(NOWHERE, run.count, smaller) or None
        return moves

    def largest_instead_of(self, run: Run, window: int) -> int:
        """How many slots `lease_at_most` would give if this leased run were free."""
        self.give_back(run)
        largest = min(window, self._largest_free_run())
        self.reserve(run.first, run.count)
        return largest

    def reserve(self, first: int, window: int) -> bool:
        """Leases exactly this run again (after a restart of the controller); False where it isn't free."""
        if not window or first + window > self.total or not self._is_free(first, window):
            return False
        self.leased[first] = window
        return True

    def release(self, first: int) -> None:
        """Returns a run; one that isn't leased is ignored."""
        self.leased.pop(first, None)

    def give_back(self, run: Run) -> None:
        """Returns a run, which may be one of none."""
        if run.count:
            self.release(run.first)

    def _is_free(self, first: int, window: int) -> bool:
        return all(first + window <= start or start + size <= first for start, size in self.leased.items())

    def _free_runs(self, window: int) -> list[int]:
        starts = range(0, self.total - window + 1, window)
        return [start for start in starts if self._is_free(start, window)]

    def _largest_free_run(self) -> int:
        window = 1
        while window * 2 <= self.total:
            window *= 2
        while window and not self._free_runs(window):
            window //= 2
        return window

    def _run_around(self, start: int) -> tuple[int, int]:
        """Sort key: a lease goes into the smallest free aligned run that has room, to keep large ones whole."""
        size = 1
        while size * 2 <= self.total and self._is_free(start - start % (size * 2), size * 2):
            size *= 2
        return size, start
