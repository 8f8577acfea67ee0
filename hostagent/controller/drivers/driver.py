"""The one interface through which aggregators are driven, and the names of what they count.

A driver owns its threads and connections. It notices by itself when the aggregator goes away or has lost its state,
loads the program again where it manages programs, and reports this through `DriverEvents`, from any thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.job import JobConfig


class AggregatorUnavailable(Exception):
    """The aggregator can't be asked now; the text says why."""


@dataclass(frozen=True, slots=True)
class AggregatorCounters:
    """What an aggregator has counted since its program was loaded."""

    verdicts: dict[int, dict[str, int]] = field(default_factory=dict)
    """Row -> verdict -> frames."""
    verdict_bytes: dict[int, dict[str, int]] = field(default_factory=dict)
    drops: dict[str, int] = field(default_factory=dict)
    statistics: list[tuple[str, Mapping[str, Any] | None]] = field(default_factory=list)
    """Name of each aggregator, and what it tells of itself, as its ports' counters; None: it isn't one of ours."""


class DriverEvents(Protocol):
    """Events of a driver for the controller."""

    def ready(self, capacity: Capacity, state_lost: bool) -> None:
        """The aggregator accepts jobs; `state_lost`: those installed before are gone."""

    def lost(self, why: str, *, permanent: bool = False) -> None:
        """The aggregator accepts no jobs. `permanent`: retries fail until the operator changes something."""

    def installed(self, job: int, epoch: int) -> None:
        """The answer to `install`."""

    def install_failed(self, job: int, epoch: int, why: str) -> None:
        """The aggregator refused the job."""

    def delivery_problem(self, job: int, why: str) -> None:
        """Frames of the job are lost between racks, which its ranks cannot observe; "": they arrive again."""


class Driver(Protocol):
    """One aggregator. No method but `counters`, `silent` and `stop` waits for anything."""

    @property
    def name(self) -> str:
        """Name for people: kind and address."""

    def start(self, events: DriverEvents, installed: Sequence[JobConfig]) -> None:
        """Begins to connect. `installed`: the jobs that the aggregator has unless it lost its state."""

    def install(self, config: JobConfig) -> None:
        """Installs a job, new or under a new epoch. Answered once, unless `lost` comes first."""

    def remove(self, job: int) -> None:
        """Removes a job from the aggregator. Not answered."""

    def counters(self, timeout_s: float) -> AggregatorCounters:
        """Reads what it has counted. Raises AggregatorUnavailable."""

    def silent(self, timeout_s: float) -> list[str]:
        """Names, for people, of aggregators that take connections and do not answer within ``timeout_s``."""

    def stop(self) -> None:
        """Ends threads and connections; the aggregator keeps its jobs."""
