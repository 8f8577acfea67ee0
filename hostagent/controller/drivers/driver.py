"""The one interface through which aggregators are driven, and the names of what they count.

A driver owns its threads and connections. It notices by itself when the aggregator goes away or has lost its state,
puts a program back where that is its job, and says so through `DriverEvents`, from any thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.p4.entries import JobEntries

VERDICTS = (
    "accepted",
    "accepted_no_data",
    "completed",
    "served_again",
    "waiting",
    "error",
    "outside_window",
    "mismatch",
)
"""What became of a job's contribution, in the order of the program's verdict_t."""

VERDICTS_PER_ROW = 16

DROPS = ("not_ours", "length", "checksum", "job", "child", "epoch", "kind", "index")
"""Why a frame was dropped before it reached a set, in the order of the program's drop_t."""


class AggregatorUnavailable(Exception):
    """The aggregator can't be asked now; the text says why."""


@dataclass(frozen=True, slots=True)
class AggregatorCounters:
    """What an aggregator has counted since its program was loaded."""

    verdicts: dict[int, dict[str, int]] = field(default_factory=dict)
    """Row -> verdict -> frames."""
    verdict_bytes: dict[int, dict[str, int]] = field(default_factory=dict)
    drops: dict[str, int] = field(default_factory=dict)


class DriverEvents(Protocol):
    """Events of a driver for the controller."""

    def ready(self, capacity: Capacity, wiped: bool) -> None:
        """The aggregator accepts jobs; `wiped`: it has lost those installed before."""

    def lost(self, why: str, *, hopeless: bool = False) -> None:
        """The aggregator accepts no jobs. `hopeless`: retrying cannot help before the operator changes something."""

    def installed(self, job: int, epoch: int) -> None:
        """The answer to `install`."""

    def install_failed(self, job: int, epoch: int, why: str) -> None:
        """The aggregator is there and refused."""

    def troubled(self, job: int, why: str) -> None:
        """Frames of the job don't arrive somewhere inside the aggregator, which its ranks can't know; "": they do."""


class Driver(Protocol):
    """One aggregator. No method but `counters` and `stop` waits for anything."""

    @property
    def name(self) -> str:
        """For people: kind and address."""

    def start(self, events: DriverEvents, told: Sequence[JobEntries]) -> None:
        """Begins to connect. `told`: the jobs that the aggregator knows if it has lost nothing."""

    def install(self, entries: JobEntries) -> None:
        """Tells a job, new or under a new epoch. Answered once, unless `lost` comes first."""

    def remove(self, job: int) -> None:
        """Lets the aggregator forget a job. Not answered."""

    def counters(self, timeout_s: float) -> AggregatorCounters:
        """Reads what it has counted. Raises AggregatorUnavailable."""

    def stop(self) -> None:
        """Ends threads and connections; the aggregator keeps what it knows."""
