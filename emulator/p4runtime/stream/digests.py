"""Samples of a digest on their way to the controller: collected, without duplicates, sent in lists, acknowledged.

P4Runtime, "DigestEntry": a list leaves when it is ``max_list_size`` samples long or its first sample has waited
``max_timeout_ns``. A sample that has been sent is not sent again until its list is acknowledged or ``ack_timeout_ns``
have passed; where acknowledgements are swept, between one and two of them. No I/O and no clock here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

Sample = tuple[int, ...]

MAX_LIST_SIZE = 1024
"""Where the controller sets no limit: as many as the switch's queue holds, and what bmv2 takes for 0."""


@dataclass(frozen=True, slots=True)
class DigestConfig:
    max_timeout_ns: int
    """0: send at once."""
    max_list_size: int
    """0: `MAX_LIST_SIZE`."""
    ack_timeout_ns: int
    """0: forget what was sent."""


@dataclass(frozen=True, slots=True)
class DigestBatch:
    list_id: int
    samples: tuple[Sample, ...]


@dataclass(slots=True)
class _Sent:
    list_id: int
    expires_ns: int
    samples: tuple[Sample, ...]


@dataclass(slots=True)
class DigestBuffer:
    """The samples of one digest; ``config`` may be replaced at any time."""

    config: DigestConfig
    sweeps_acks: bool = False
    """See `emulator.p4runtime.flavor.Flavor.sweeps_digest_acks`. Sweeps are at multiples of ``ack_timeout_ns``."""
    _waiting: dict[Sample, int] = field(default_factory=dict)
    """Samples in order of arrival, and the times of arrival."""
    _unacknowledged: deque[_Sent] = field(default_factory=deque)
    """Oldest first."""
    _known: dict[Sample, int] = field(default_factory=dict)
    """All samples in ``_unacknowledged``, with the id of their list."""
    _last_list_id: int = 0

    def add(self, samples: Iterable[Sample], now_ns: int) -> None:
        self._expire(now_ns)
        for sample in samples:
            if sample not in self._known:
                self._waiting.setdefault(sample, now_ns)

    def take(self, now_ns: int) -> list[DigestBatch]:
        """The lists that are due."""
        self._expire(now_ns)
        batches = []
        limit = self.config.max_list_size or MAX_LIST_SIZE
        while self._waiting and (len(self._waiting) >= limit or self._oldest_is_due(now_ns)):
            samples = tuple(list(self._waiting)[:limit])
            for sample in samples:
                del self._waiting[sample]
            batches.append(self._send(samples, now_ns))
        return batches

    def acknowledge(self, list_id: int) -> None:
        """An acknowledgement of an unknown list is ignored: the list may have timed out."""
        for sent in self._unacknowledged:
            if sent.list_id == list_id:
                self._unacknowledged.remove(sent)
                self._forget(sent)
                return

    def forget_all(self) -> None:
        """A new controller has heard of nothing."""
        self._unacknowledged.clear()
        self._known.clear()

    def _oldest_is_due(self, now_ns: int) -> bool:
        return now_ns - next(iter(self._waiting.values())) >= self.config.max_timeout_ns

    def _send(self, samples: tuple[Sample, ...], now_ns: int) -> DigestBatch:
        self._last_list_id += 1
        if self.config.ack_timeout_ns:
            timeout_ns = self.config.ack_timeout_ns
            sent_ns = -(-now_ns // timeout_ns) * timeout_ns if self.sweeps_acks else now_ns
            self._unacknowledged.append(_Sent(self._last_list_id, sent_ns + timeout_ns, samples))
            self._known.update(dict.fromkeys(samples, self._last_list_id))
        return DigestBatch(self._last_list_id, samples)

    def _expire(self, now_ns: int) -> None:
        while self._unacknowledged and now_ns >= self._unacknowledged[0].expires_ns:
            self._forget(self._unacknowledged.popleft())

    def _forget(self, sent: _Sent) -> None:
        for sample in sent.samples:
            if self._known.get(sample) == sent.list_id:
                del self._known[sample]
