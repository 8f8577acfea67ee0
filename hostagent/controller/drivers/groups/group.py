"""Drives several aggregators that work on a job together as if they were one: all of them have a job, or none."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.driver import AggregatorCounters, Driver, DriverEvents
from hostagent.controller.drivers.job import JobConfig


class GroupRefused(Exception):
    """The aggregators do not fit together, or a job does not fit them; the text says why."""


@dataclass(slots=True)
class _Member:
    """What is known of one aggregator."""

    capacity: Capacity | None = None
    """None: it is not reachable."""
    state_lost: bool = False


@dataclass(slots=True)
class _Installation:
    """A job under an epoch, and the aggregators that have not answered yet."""

    epoch: int
    members: frozenset[int]
    """Indices."""
    waiting: set[int] = field(default_factory=set)


class DriverGroup(ABC):
    """See hostagent.controller.drivers.driver.Driver."""

    def __init__(self, drivers: Sequence[Driver]) -> None:
        self._drivers = drivers
        self._members = [_Member() for _ in drivers]
        self._installations: dict[int, _Installation] = {}
        self._events: DriverEvents | None = None
        self._lock = threading.Lock()
        """Events of the drivers, on their threads."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name for people."""

    @abstractmethod
    def _split(self, config: JobConfig) -> dict[int, JobConfig]:
        """Parts of a job, by the aggregator's index. Raises GroupRefused."""

    def _check(self, known: Sequence[Capacity]) -> None:
        """Raises GroupRefused where the aggregators, all of them reachable, do not fit together."""
        lanes = sorted({capacity.lanes for capacity in known})
        if len(lanes) > 1:
            text = " and ".join(map(str, lanes))
            raise GroupRefused(f"aggregators with {text} lanes work on the same jobs: give all the same lanes")

    def _combined(self, known: Sequence[Capacity]) -> Capacity:
        """What all together can hold, by what each can."""
        return replace(
            known[0],
            slots=min(each.slots for each in known),
            rows=min(each.rows for each in known),
            forwards_messages=all(each.forwards_messages for each in known),
            message_checksum=True,
        )

    def _known(self, index: int, installed: Sequence[JobConfig]) -> Sequence[JobConfig]:
        """What one aggregator should have of the jobs that the group has."""
        parts = (self._split(config) for config in installed)
        return [part[index] for part in parts if index in part]

    def _is_being_installed(self, config: JobConfig, shares: Mapping[int, JobConfig]) -> None:  # noqa: B027 - a hook
        """A job is about to be installed in these parts."""

    def start(self, events: DriverEvents, installed: Sequence[JobConfig]) -> None:
        """See Driver."""
        self._events = events
        for index, driver in enumerate(self._drivers):
            driver.start(_MemberEvents(self, index), self._known(index, installed))

    def install(self, config: JobConfig) -> None:
        """See Driver."""
        try:
            shares = self._split(config)
        except GroupRefused as error:
            self._listener.install_failed(config.job, config.epoch, str(error))
            return
        with self._lock:
            before = self._installations.get(config.job)
            self._installations[config.job] = _Installation(config.epoch, frozenset(shares), set(shares))
        self._is_being_installed(config, shares)
        for index in (before.members if before is not None else frozenset()) - set(shares):
            self._drivers[index].remove(config.job)
        for index, share in shares.items():
            self._drivers[index].install(share)

    def remove(self, job: int) -> None:
        """See Driver."""
        with self._lock:
            self._installations.pop(job, None)
        for driver in self._drivers:
            driver.remove(job)

    def counters(self, timeout_s: float) -> AggregatorCounters:
        """See Driver; of all aggregators together."""
        total = AggregatorCounters()
        for driver in self._drivers:
            counters = driver.counters(timeout_s)
            for row, verdicts in counters.verdicts.items():
                _add(total.verdicts.setdefault(row, {}), verdicts)
            for row, verdicts in counters.verdict_bytes.items():
                _add(total.verdict_bytes.setdefault(row, {}), verdicts)
            _add(total.drops, counters.drops)
            total.statistics.extend(counters.statistics)
        return total

    def silent(self, timeout_s: float) -> list[str]:
        """See Driver; all are asked at the same time."""
        with ThreadPoolExecutor(len(self._drivers)) as pool:
            return [
                name for found in pool.map(lambda driver: driver.silent(timeout_s), self._drivers) for name in found
            ]

    def stop(self) -> None:
        """See Driver."""
        for driver in self._drivers:
            driver.stop()

    # --- events of the aggregators' drivers --------------------------------------------------------------------------

    @property
    def _listener(self) -> DriverEvents:
        assert self._events is not None, "start sets it"
        return self._events

    def ready(self, index: int, capacity: Capacity, state_lost: bool) -> None:
        """One aggregator accepts jobs; the group does once all do."""
        with self._lock:
            self._members[index].capacity = capacity
            self._members[index].state_lost |= state_lost
            known = [member.capacity for member in self._members if member.capacity is not None]
            if len(known) < len(self._members):
                return
            state_lost = any(member.state_lost for member in self._members)
            for member in self._members:
                member.state_lost = False
        try:
            self._check(known)
        except GroupRefused as error:
            self._listener.lost(str(error), permanent=True)
            return
        self._listener.ready(replace(self._combined(known), aggregator=self.name), state_lost)

    def lost(self, index: int, why: str, permanent: bool) -> None:
        """One aggregator accepts no jobs, so the group does not."""
        with self._lock:
            self._members[index].capacity = None
        self._listener.lost(why, permanent=permanent)

    def installed(self, index: int, job: int, epoch: int) -> None:
        """One aggregator has its part of a job."""
        with self._lock:
            installation = self._installations.get(job)
            if installation is None or installation.epoch != epoch:
                return
            installation.waiting.discard(index)
            if installation.waiting:
                return
        self._listener.installed(job, epoch)

    def install_failed(self, index: int, job: int, epoch: int, why: str) -> None:
        """One aggregator refuses its part of a job: the job counts as not installed even where the others accept it."""
        with self._lock:
            installation = self._installations.get(job)
            if installation is None or installation.epoch != epoch:
                return
            installation.waiting.add(len(self._members))
        self._listener.install_failed(job, epoch, f"{self._drivers[index].name}: {why}")

    def delivery_problem(self, job: int, why: str) -> None:
        """See DriverEvents."""
        self._listener.delivery_problem(job, why)


@dataclass(frozen=True, slots=True)
class _MemberEvents:
    """Receives the events of one aggregator's driver."""

    group: DriverGroup
    index: int

    def ready(self, capacity: Capacity, state_lost: bool) -> None:
        self.group.ready(self.index, capacity, state_lost)

    def lost(self, why: str, *, permanent: bool = False) -> None:
        self.group.lost(self.index, why, permanent)

    def installed(self, job: int, epoch: int) -> None:
        self.group.installed(self.index, job, epoch)

    def install_failed(self, job: int, epoch: int, why: str) -> None:
        self.group.install_failed(self.index, job, epoch, why)

    def delivery_problem(self, job: int, why: str) -> None:
        self.group.delivery_problem(job, why)


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        total[name] = total.get(name, 0) + count
