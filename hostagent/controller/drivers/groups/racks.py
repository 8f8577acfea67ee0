"""Drives rack servers that are each other's peers as if they were one aggregator.

A child belongs to the rack of its port: every server reports its ports. A job is installed on the racks that have
children of it; a job with children in one rack alone is not spread. All servers use the same slots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.aggregator import SCHEME, AggregatorDriver
from hostagent.controller.drivers.driver import DriverEvents
from hostagent.controller.drivers.groups.group import DriverGroup, GroupRefused
from hostagent.controller.drivers.groups.silent_links import Cable, CableWatch
from hostagent.controller.drivers.job import JobConfig
from hostagent.protocol.services.aggregator import RackPart, Spread

RacksRefused = GroupRefused


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is, as it says."""

    rack: int
    peers: frozenset[int]
    ports: frozenset[int]


class RacksDriver(DriverGroup):
    """See hostagent.controller.drivers.driver.Driver."""

    _drivers: Sequence[AggregatorDriver]

    def __init__(self, addresses: Sequence[str], way: str) -> None:
        self._addresses, self._way = addresses, way
        drivers = [AggregatorDriver(address) for address in addresses]
        super().__init__(drivers)
        self._cables = CableWatch([driver.statistics for driver in drivers], self._cables_changed)
        self._silent: Mapping[Cable, str] = {}
        self._parts: dict[int, frozenset[int]] = {}
        """Numbers of the racks of a job that is spread over several."""

    @property
    def name(self) -> str:
        """Name for people."""
        return f"{SCHEME}://{','.join(self._addresses)} ({len(self._addresses)} racks, {self._way})"

    def start(self, events: DriverEvents, installed: Sequence[JobConfig]) -> None:
        """See Driver."""
        super().start(events, installed)
        self._cables.start()

    def remove(self, job: int) -> None:
        """See Driver."""
        with self._lock:
            self._parts.pop(job, None)
        super().remove(job)

    def stop(self) -> None:
        """See Driver."""
        self._cables.stop()
        super().stop()

    def _split(self, config: JobConfig) -> dict[int, JobConfig]:
        return split(config, self._places(), self._way)

    def _check(self, known: Sequence[Capacity]) -> None:
        self._places()
        super()._check(known)

    def _known(self, index: int, installed: Sequence[JobConfig]) -> Sequence[JobConfig]:
        """A server that lacks a job, as it has no children of it, counts as one that has lost it."""
        return installed

    def _is_being_installed(self, config: JobConfig, shares: Mapping[int, JobConfig]) -> None:
        with self._lock:
            parts = self._parts[config.job] = _parts_of(shares)
            problem = _delivery_problem(parts, self._silent)
        if problem:
            self._listener.delivery_problem(config.job, problem)

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

    def _cables_changed(self, silent: Mapping[Cable, str]) -> None:
        with self._lock:
            self._silent = silent
            problems = {job: _delivery_problem(parts, silent) for job, parts in self._parts.items()}
        for job, problem in problems.items():
            self._listener.delivery_problem(job, problem)


def _delivery_problem(parts: frozenset[int], silent: Mapping[Cable, str]) -> str:
    """What is wrong with the cables between a job's racks."""
    return "; ".join(text for cable, text in silent.items() if {cable.sender, cable.receiver} <= parts)


def split(config: JobConfig, places: Sequence[Place], way: str) -> dict[int, JobConfig]:
    """Parts of a job, by the index of the server's place. Raises RacksRefused."""
    children = {
        index: mine
        for index, place in enumerate(places)
        if (mine := tuple(child for child in config.children if child.port in place.ports))
    }
    nowhere = [child.port for child in config.children if not any(child.port in place.ports for place in places)]
    if nowhere:
        raise RacksRefused(f"no rack's server has port {nowhere[0]}: give it the --port that the controller has")
    if len(children) == 1:
        return {index: replace(config, children=mine) for index, mine in children.items()}
    parts = tuple(
        RackPart(places[index].rack, sum(1 << child.child for child in children[index]))
        for index in sorted(children, key=lambda index: places[index].rack)
    )
    spread = Spread(way, parts)
    return {index: replace(config, children=mine, spread=spread) for index, mine in children.items()}


def _parts_of(shares: Mapping[int, JobConfig]) -> frozenset[int]:
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
