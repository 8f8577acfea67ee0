"""A TCP sender that reacts to losses as a textbook says, and its receiver: NewReno (RFC 5681, RFC 6582) in segments."""

from __future__ import annotations

FIRST_WINDOW, LEAST_WINDOW = 10, 2
DUPLICATES = 3
FIRST_RTO_NS = 200_000_000
"""Linux's least."""


class Reno:
    """A sender with endless data. Windows are in segments; ``acknowledge`` is told the next segment that the receiver
    lacks."""

    def __init__(self) -> None:
        self.window, self.threshold = float(FIRST_WINDOW), float("inf")
        self.next, self.oldest = 0, 0
        self.again: list[int] = []
        """Segments to send again."""
        self.losses = self.timeouts = 0
        self._duplicates = 0
        self._recover = -1
        """The segment after the last one sent before the last loss: what is lost before it is of the same loss."""
        self._recovers = False
        self._progress_ns = 0

    def segments(self, now_ns: int) -> list[int]:
        """What to send now."""
        found, self.again = self.again, []
        extra = self._duplicates if self._recovers else 0
        while self.next - self.oldest < int(self.window) + extra:
            found.append(self.next)
            self.next += 1
        if found and self.oldest + len(found) == self.next:
            self._progress_ns = now_ns
        return found

    def acknowledge(self, wanted: int, now_ns: int) -> None:
        """An acknowledgement has come."""
        if wanted <= self.oldest:
            self._duplicates += 1
            if self._duplicates == DUPLICATES and not self._recovers and self.oldest > self._recover:
                self._reduce()
                self._recovers = True
                self.again.append(self.oldest)
            return
        self._progress_ns = now_ns
        if self._recovers and wanted < self._recover:  # partial: the next hole
            self._duplicates = max(0, self._duplicates - (wanted - self.oldest)) + 1
            self.again.append(wanted)
        elif self._recovers:
            self._recovers, self._duplicates = False, 0
        else:
            self._duplicates = 0
            acked = wanted - self.oldest
            self.window += acked if self.window < self.threshold else acked / self.window
        self.oldest = wanted

    def timer_ns(self) -> int:
        """When `expire` is due."""
        return self._progress_ns + FIRST_RTO_NS

    def expire(self, now_ns: int) -> None:
        """No progress for a time-out: begin anew."""
        self.timeouts += 1
        self._reduce()
        self.window, self._recovers, self._duplicates = 1.0, False, 0
        self.next, self.again = self.oldest, []
        self._progress_ns = now_ns

    def _reduce(self) -> None:
        self.losses += 1
        self.window = self.threshold = max(self.window / 2, LEAST_WINDOW)
        self._recover = self.next


class Receiver:
    """Says for each segment that comes which one it lacks."""

    def __init__(self) -> None:
        self._wanted, self._kept = 0, set[int]()
        self.segments = 0
        """In order, so far."""

    def receive(self, segment: int) -> int:
        if segment >= self._wanted:
            self._kept.add(segment)
        while self._wanted in self._kept:
            self._kept.remove(self._wanted)
            self._wanted += 1
        self.segments = self._wanted
        return self._wanted
