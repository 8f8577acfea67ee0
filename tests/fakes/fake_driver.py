"""A driver without an aggregator: remembers its entries, and fails on command."""

from __future__ import annotations

from collections.abc import Sequence

from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.driver import AggregatorCounters, DriverEvents
from hostagent.controller.drivers.job import JobConfig

CAPACITY = Capacity(slots=512, lanes=64, rows=64, forwards_messages=True, aggregator="fake://aggregator")


class FakeDriver:
    """Answers at once, from the caller's thread."""

    name = "fake://aggregator"

    def __init__(self, capacity: Capacity = CAPACITY) -> None:
        self.capacity = capacity
        self.entries_of: dict[int, JobConfig] = {}
        self.epochs: list[int] = []
        self.quiet: list[str] = []
        """Names of aggregators that do not answer."""
        self.events: DriverEvents | None = None

    def start(self, events: DriverEvents, expected: Sequence[JobConfig]) -> None:
        self.events = events
        self.entries_of = {entries.job: entries for entries in expected}
        events.ready(self.capacity, state_lost=False)

    def install(self, entries: JobConfig) -> None:
        assert self.events is not None
        self.entries_of[entries.job] = entries
        self.epochs.append(entries.epoch)
        self.events.installed(entries.job, entries.epoch)

    def remove(self, job: int) -> None:
        self.entries_of.pop(job, None)

    def restart(self) -> None:
        """The aggregator comes back without its state."""
        assert self.events is not None
        self.events.lost("restarted")
        self.entries_of.clear()
        self.events.ready(self.capacity, state_lost=True)

    def counters(self, timeout_s: float) -> AggregatorCounters:
        return AggregatorCounters(
            verdicts={row: {"accepted": 7} for row in range(self.capacity.rows)},
            drops={"length": 3},
            statistics=[(self.name, {"ports": {}})],
        )

    def silent(self, timeout_s: float) -> list[str]:
        return list(self.quiet)

    def stop(self) -> None:
        self.events = None
