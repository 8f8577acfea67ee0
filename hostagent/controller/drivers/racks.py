"""Drives rack servers that are each other's peers as if they were one aggregator.

A child belongs to the rack of its port: every server reports its ports. A job is installed on the racks that have
children of it; a job with children in one rack alone is not spread. All servers use the same slots.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.aggregator import SCHEME, AggregatorDriver
from hostagent.controller.drivers.driver import AggregatorCounters, DriverEvents
from hostagent.controller.drivers.p4.entries import JobEntries
from hostagent.controller.drivers.silent_links import Cable, CableWatch
from hostagent.protocol.services.aggregator import RackPart, Spread


class RacksRefused(Exception):
    """The servers do not fit together, or a job does not fit them; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is, as it says."""

    rack: int
    peers: frozenset[int]
    ports: frozenset[int]


@dataclass(slots=True)
class _Rack:
    """What is known of one server."""

    capacity: Capacity | None = None
    """None: it is not reachable."""
    state_lost: bool = False


@dataclass(slots=True)
class _Installation:
    """A job under an epoch, and the servers that have not answered yet."""

    epoch: int
    racks: frozenset[int]
    """The places' indices."""
    parts: frozenset[int]
    """The racks' numbers, where there are several."""
    waiting: set[int] = field(default_factory=set)

    def delivery_problem(self, silent: Mapping[Cable, str]) -> str:
        """What is wrong with the cables between its racks."""
        mine = (text for cable, text in silent.items() if {cable.sender, cable.receiver} <= self.parts)
        return "; ".join(mine)


class RacksDriver:
    """See hostagent.controller.drivers.driver.Driver."""

    def __init__(self, addresses: Sequence[str], way: str) -> None:
        self._addresses, self._way = addresses, way
        self._drivers = [AggregatorDriver(address) for address in addresses]
        self._cables = CableWatch([driver.statistics for driver in self._drivers], self._cables_changed)
        self._silent: Mapping[Cable, str] = {}
        self._racks = [_Rack() for _ in addresses]
        self._installations: dict[int, _Installation] = {}
        self._events: DriverEvents | None = None
        self._lock = threading.Lock()
        """Events of the drivers, on their threads."""

    @property
    def name(self) -> str:
        """Name for people."""
        return f"{SCHEME}://{','.join(self._addresses)} ({len(self._addresses)} racks, {self._way})"

    def start(self, events: DriverEvents, installed: Sequence[JobEntries]) -> None:
        """See Driver. A server that lacks a job, as it has no children of it, counts as one that has lost it."""
        self._events = events
        for index, driver in enumerate(self._drivers):
            driver.start(_RackEvents(self, index), installed)
        self._cables.start()

    def install(self, entries: JobEntries) -> None:
        """See Driver."""
        try:
            shares = split(entries, self._places(), self._way)
        except RacksRefused as error:
            self._listener.install_failed(entries.job, entries.epoch, str(error))
            return
        with self._lock:
            before = self._installations.get(entries.job)
            installation = self._installations[entries.job] = _Installation(
                entries.epoch, frozenset(shares), _parts_of(shares), set(shares)
            )
            problem = installation.delivery_problem(self._silent)
        if problem:
            self._listener.delivery_problem(entries.job, problem)
        for index in (before.racks if before is not None else frozenset()) - set(shares):
            self._drivers[index].remove(entries.job)
        for index, share in shares.items():
            self._drivers[index].install(share)

    def remove(self, job: int) -> None:
        """See Driver."""
        with self._lock:
            self._installations.pop(job, None)
        for driver in self._drivers:
            driver.remove(job)

    def counters(self, timeout_s: float) -> AggregatorCounters:
        """See Driver; of all racks together."""
        total = AggregatorCounters()
        for driver in self._drivers:
            counters = driver.counters(timeout_s)
            for row, verdicts in counters.verdicts.items():
                _add(total.verdicts.setdefault(row, {}), verdicts)
            for row, verdicts in counters.verdict_bytes.items():
                _add(total.verdict_bytes.setdefault(row, {}), verdicts)
            _add(total.drops, counters.drops)
        return total

    def stop(self) -> None:
        """See Driver."""
        self._cables.stop()
        for driver in self._drivers:
            driver.stop()

    # --- events of the servers' drivers -------------------------------------------------------------------------------

    @property
    def _listener(self) -> DriverEvents:
        assert self._events is not None, "start sets it"
        return self._events

    def _places(self) -> list[Place]:
        """Place that each server reports. Raises RacksRefused where they do not fit together."""
        places = []
        for driver in self._drivers:
            description = driver.description
            if not description.HasField("place"):
                raise RacksRefused(f"{driver.name} has no place among racks: start it with --rack and --peer")
            places.append(
                Place(description.place.rack, frozenset(description.place.peers), frozenset(description.ports))
            )
        _check(places, [driver.name for driver in self._drivers])
        return places

    def _ready(self, index: int, capacity: Capacity, state_lost: bool) -> None:
        """One server accepts jobs; the racks do once all servers do."""
        with self._lock:
            self._racks[index].capacity = capacity
            self._racks[index].state_lost |= state_lost
            known = [rack.capacity for rack in self._racks if rack.capacity is not None]
            if len(known) < len(self._racks):
                return
            state_lost = any(rack.state_lost for rack in self._racks)
            for rack in self._racks:
                rack.state_lost = False
        try:
            self._places()
            _same_lanes(known)
        except RacksRefused as error:
            self._listener.lost(str(error), permanent=True)
            return
        capacity = replace(
            known[0],
            slots=min(each.slots for each in known),
            forwards_messages=all(each.forwards_messages for each in known),
            message_checksum=True,
            aggregator=self.name,
        )
        self._listener.ready(capacity, state_lost)

    def _lost(self, index: int, why: str, permanent: bool) -> None:
        with self._lock:
            self._racks[index].capacity = None
        self._listener.lost(why, permanent=permanent)

    def _cables_changed(self, silent: Mapping[Cable, str]) -> None:
        with self._lock:
            self._silent = silent
            problems = {job: each.delivery_problem(silent) for job, each in self._installations.items()}
        for job, problem in problems.items():
            self._listener.delivery_problem(job, problem)

    def _installed(self, index: int, job: int, epoch: int) -> None:
        with self._lock:
            installation = self._installations.get(job)
            if installation is None or installation.epoch != epoch:
                return
            installation.waiting.discard(index)
            if installation.waiting:
                return
        self._listener.installed(job, epoch)

    def _install_failed(self, index: int, job: int, epoch: int, why: str) -> None:
        with self._lock:
            installation = self._installations.get(job)
            if installation is None or installation.epoch != epoch:
                return
            installation.waiting.add(
                len(self._racks)
            )  # the job counts as not installed even where the others accept it
        self._listener.install_failed(job, epoch, f"{self._drivers[index].name}: {why}")


@dataclass(frozen=True, slots=True)
class _RackEvents:
    """Receives the events of one server's driver."""

    racks: RacksDriver
    index: int

    def ready(self, capacity: Capacity, state_lost: bool) -> None:
        self.racks._ready(self.index, capacity, state_lost)

    def lost(self, why: str, *, permanent: bool = False) -> None:
        self.racks._lost(self.index, why, permanent)

    def installed(self, job: int, epoch: int) -> None:
        self.racks._installed(self.index, job, epoch)

    def install_failed(self, job: int, epoch: int, why: str) -> None:
        self.racks._install_failed(self.index, job, epoch, why)

    def delivery_problem(self, job: int, why: str) -> None:
        self.racks._listener.delivery_problem(job, why)


def split(entries: JobEntries, places: Sequence[Place], way: str) -> dict[int, JobEntries]:
    """Parts of a job, by the index of the server's place. Raises RacksRefused."""
    children = {
        index: mine
        for index, place in enumerate(places)
        if (mine := tuple(child for child in entries.children if child.port in place.ports))
    }
    nowhere = [child.port for child in entries.children if not any(child.port in place.ports for place in places)]
    if nowhere:
        raise RacksRefused(f"no rack's server has port {nowhere[0]}: give it the --port that the controller has")
    if len(children) == 1:
        return {index: replace(entries, children=mine) for index, mine in children.items()}
    parts = tuple(
        RackPart(places[index].rack, sum(1 << child.child for child in children[index]))
        for index in sorted(children, key=lambda index: places[index].rack)
    )
    spread = Spread(way, parts)
    return {index: replace(entries, children=mine, spread=spread) for index, mine in children.items()}


def _parts_of(shares: Mapping[int, JobEntries]) -> frozenset[int]:
    """Numbers of the racks that a job is spread over."""
    spreads = (share.spread for share in shares.values())
    return frozenset(part.rack for spread in spreads if spread is not None for part in spread.racks)


def _check(places: Sequence[Place], names: Sequence[str]) -> None:
    racks = [place.rack for place in places]
    for place, name in zip(places, names, strict=True):
        if racks.count(place.rack) > 1:
            raise RacksRefused(f"{name} is one of several that are rack {place.rack}")
        unreached = sorted(set(racks) - place.peers - {place.rack})
        if unreached:
            raise RacksRefused(f"{name} has no --peer {unreached[0]}")
    ports = [port for place in places for port in place.ports]
    twice = sorted(port for port in set(ports) if ports.count(port) > 1)
    if twice:
        raise RacksRefused(
            f"port {twice[0]} belongs to the servers of several racks: give every port a different number"
        )


def _same_lanes(capacities: Sequence[Capacity]) -> None:
    lanes = sorted({capacity.lanes for capacity in capacities})
    if len(lanes) > 1:
        raise RacksRefused(f"racks' servers with {' and '.join(map(str, lanes))} lanes: give all the same --lanes")


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        total[name] = total.get(name, 0) + count
