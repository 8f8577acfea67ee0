"""Who has which slots of an aggregator. Runs are powers of two and aligned to their size, so free runs merge again."""

from __future__ import annotations

from dataclasses import dataclass, field

SMALLEST_WINDOW = 8
LARGEST_WINDOW = 512


class SlotsExhausted(Exception):
    """No run of SMALLEST_WINDOW slots is free."""


@dataclass(frozen=True, slots=True)
class Run:
    """Slots of a job."""

    first: int
    count: int
    """A power of two, or 0."""

    def contains(self, other: Run) -> bool:
        """Whether the other's slots are among these."""
        return self.first <= other.first and other.first + other.count <= self.first + self.count


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

    def lease(self) -> tuple[int, int]:
        """(first slot, W). W is at most a quarter of the slots for the first job, and an eighth of the free ones for
        each further one while that leaves a usable window, so that there is room for many. Raises SlotsExhausted."""
        largest = self._largest_free_run()
        if largest < SMALLEST_WINDOW:
            raise SlotsExhausted
        share = self.free // 8 if self.leased else self.total // 4
        window = min(self.largest_window, largest, max(SMALLEST_WINDOW, 1 << share.bit_length() >> 1))
        run = self.lease_at_most(window)
        return run.first, run.count

    def lease_at_most(self, window: int) -> Run:
        """The largest free run of up to ``window`` slots, which may be one of none."""
        window = min(window, self._largest_free_run())
        if not window:
            return Run(0, 0)
        first = min(self._free_runs(window), key=lambda start: self._run_around(start))
        self.leased[first] = window
        return Run(first, window)

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
