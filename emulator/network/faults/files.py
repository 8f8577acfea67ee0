"""Scripts of faults as YAML or JSON:

seed: 7                                             # optional, of what links draw; default 0
faults:                                             # times count from the first use of the network
- {at: 1s, impair: h0-s0, loss: 5%, duplicate: 1%, for: 2s}
- {at: 2s, down: h1->s0, for: 500ms}                # one direction; h1-s0 are both
- {at: 3s, partition: [h0, h1], for: 500ms}         # every link between these nodes and all others
- {at: 4s, slow: h2, to: 25%, for: 1s}              # runs for a quarter of the time
- {at: 5s, restart: s0}                             # killed, and started again at once; for: after that time
- {at: 6s, restart: controller, for: 1s}
- {at: 7s, kill: rank 3}                            # host h3: hosts may be called by their rank

What a link does to frames is written as for ports: rate, delay, jitter, loss, duplicate, reorder, reorder_by, corrupt.
Without ``for`` a fault lasts. Where two faults change the same of a link, the one that began last counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from emulator.network.faults.parts import (
    CONTROLLER,
    Down,
    Fault,
    Impair,
    Kill,
    Kind,
    Names,
    Partition,
    Restart,
    Script,
    Slow,
)
from emulator.network.topology.check import guess
from emulator.network.topology.description import DescriptionError, DescriptionReader
from emulator.network.topology.parts import NodeKind, Place
from emulator.network.topology.topology import Topology
from emulator.ports.spec import impairment
from emulator.ports.units import TIME_UNITS_NS, quantity

IMPAIRMENTS = ("loss", "duplicate", "reorder", "reorder_by", "corrupt", "delay", "jitter", "rate")
MOST_NAMED = 8
"""Names that an error lists."""


class FaultFileError(DescriptionError):
    """A file is no script of faults for this network."""


def read_faults(path: str | Path, topology: Topology) -> Script:
    """The faults of a file, for this network. Raises FaultFileError."""
    return parse_faults(_Reader.text_of(path), topology, str(path))


def parse_faults(text: str, topology: Topology, file: str = "faults") -> Script:
    """YAML or JSON, which YAML includes. Raises FaultFileError; ``file`` is its name there."""
    reader = _Reader(file, topology)
    return reader.script(reader.compose(text, "faults, a list such as [{at: 1s, down: h0-s0, for: 500ms}]"))


class _Reader(DescriptionReader):
    wrong = FaultFileError

    def __init__(self, file: str, topology: Topology) -> None:
        super().__init__(file)
        self._topology = topology
        self._links = link_names(topology)
        self._switches = {name: (name,) for name in (*topology.names(NodeKind.SWITCH), CONTROLLER)}
        self._hosts = {name: (name,) for name in topology.hosts}
        self._hosts |= {f"rank {rank}": (name,) for rank, name in enumerate(topology.hosts)}
        self._nodes = {node.name: (node.name,) for node in topology.nodes} | self._hosts
        self._kinds: Mapping[str, tuple[Callable[[dict[str, Any], Place], Kind], tuple[str, ...]]] = {
            "impair": (self._impair, ("for", *IMPAIRMENTS)),
            "down": (self._down, ("for",)),
            "partition": (self._partition, ("for",)),
            "slow": (self._slow, ("for", "to")),
            "kill": (self._kill, ()),
            "restart": (self._restart, ("for",)),
        }

    def script(self, document: Any) -> Script:
        top = {"seed": "0", **self.record(document, (), ("faults",), ("seed",))}
        faults = tuple(self._fault(each, ("faults", index)) for index, each in self.items(top, "faults", list))
        seed = self.number(top["seed"], ("seed",), {})
        if seed < 0:
            raise self.error(f"{seed} is negative", ("seed",))
        return Script(faults, seed)

    def _fault(self, value: Any, place: Place) -> Fault:
        words = [word for word in self.expect(dict, value, place) if word in self._kinds]
        if len(words) != 1:
            named = f"{' and '.join(words)} are two faults" if words else "it does not say what happens"
            others = [word for word in value if word not in ("at", "for", "to", *IMPAIRMENTS, *words)]
            hint = "" if words else next(filter(None, (guess(word, self._kinds) for word in others)), "")
            raise self.error(f"{named}{hint}; write one of {', '.join(self._kinds)}", place)
        make, optional = self._kinds[words[0]]
        given = self.record(value, place, ("at", words[0]), optional)
        begin_ns = self._time(given["at"], (*place, "at"))
        lasts_ns = self._time(given["for"], (*place, "for")) if "for" in given else None
        kind = make(given, place)
        if lasts_ns is None and isinstance(kind, Restart):
            lasts_ns = 0
        return Fault(kind, begin_ns, None if lasts_ns is None else begin_ns + lasts_ns)

    def _impair(self, given: dict[str, Any], place: Place) -> Impair:
        words = {name: self.expect(str, given[name], (*place, name)) for name in IMPAIRMENTS if name in given}
        if not words:
            raise self.error(f"it does not say how; add one of {', '.join(IMPAIRMENTS)}", place)
        fields = []
        for name, word in words.items():
            try:
                fields.append(impairment(name, word))
            except ValueError as error:
                raise self.error(str(error), (*place, name)) from None
        link, links = self._named(given, "impair", place, "link", self._links)
        return Impair(link, links, tuple(fields), ", ".join(f"{name} {word}" for name, word in words.items()))

    def _down(self, given: dict[str, Any], place: Place) -> Down:
        return Down(*self._named(given, "down", place, "link", self._links))

    def _partition(self, given: dict[str, Any], place: Place) -> Partition:
        inside = (*place, "partition")
        words = enumerate(self.expect(list, given["partition"], inside))
        nodes = tuple(self._known(word, (*inside, index), "node", self._nodes)[0] for index, word in words)
        crossing = [link.name for link in self._topology.links if (link.source in nodes) != (link.destination in nodes)]
        if not crossing:
            raise self.error("no link leads from these nodes to others; name some of the nodes, not all", inside)
        return Partition(nodes, tuple(crossing))

    def _slow(self, given: dict[str, Any], place: Place) -> Slow:
        inside = (*place, "to")
        if "to" not in given:
            raise self.error("to is missing: the share of the time that the host runs, as 25%", place)
        try:
            _, share = impairment("share", self.expect(str, given["to"], inside))
        except ValueError:
            raise self.error(f"{given['to']!r}: write a share from 0 to 1, such as 0.25 or 25%", inside) from None
        if float(share) == 0 and "for" not in given:
            raise self.error("a host that never runs again: add for, such as for: 2s, or write kill", inside)
        return Slow(self._named(given, "slow", place, "host", self._hosts)[1][0], float(share))

    def _kill(self, given: dict[str, Any], place: Place) -> Kill:
        return Kill(self._named(given, "kill", place, "host", self._hosts)[1][0])

    def _restart(self, given: dict[str, Any], place: Place) -> Restart:
        return Restart(self._named(given, "restart", place, "switch", self._switches)[0])

    def _named(
        self, given: Mapping[str, Any], field: str, place: Place, what: str, known: Names
    ) -> tuple[str, tuple[str, ...]]:
        word = self.expect(str, given[field], (*place, field))
        return word, self._known(word, (*place, field), what, known)

    def _known(self, word: Any, place: Place, what: str, known: Names) -> tuple[str, ...]:
        name = self.expect(str, word, place)
        if name not in known:
            raise self.error(unknown(what, name, known, self._topology), place)
        return known[name]

    def _time(self, value: Any, place: Place) -> int:
        """In nanoseconds; a bare number is refused, as nobody sees its unit."""
        try:
            return quantity(self.expect(str, value, place), TIME_UNITS_NS)
        except ValueError as error:
            raise self.error(str(error), place) from None


def unknown(what: str, name: str, known: Iterable[str], topology: Topology) -> str:
    """What is wrong with a name that is none of those known."""
    hint = guess(name, known) or f"; there are {_listed(known)}"
    return f"there is no {what} {name!r} in {topology.name}{hint}"


def link_names(topology: Topology) -> dict[str, tuple[str, ...]]:
    """What a link may be called: each direction by its name, and a cable by its ends in either order."""
    known: dict[str, tuple[str, ...]] = {}
    for link in topology.links:
        number = f"#{link.number}" if link.number else ""
        ends = f"{link.source}-{link.destination}{number}", f"{link.destination}-{link.source}{number}"
        for cable in ends:
            known[cable] = (*known.get(cable, ()), link.name)
    return known | {link.name: (link.name,) for link in topology.links}


def _listed(names: Iterable[str]) -> str:
    words = list(names)
    more = f" and {len(words) - MOST_NAMED} others" if len(words) > MOST_NAMED else ""
    return ", ".join(words[:MOST_NAMED]) + more
