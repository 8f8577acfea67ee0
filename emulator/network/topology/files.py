"""Topologies as YAML or JSON, one form for both:

name: pair                    # else the file's
classes:                      # fields and defaults as of parts.LinkClass
  host: {rate_bps: 100Mbit, latency_ns: 5us, queue_bytes: 64KiB}
nodes:
- {name: h0, kind: host}      # host, nic or switch; coordinates: [row, column] or [position]
- {name: h1, kind: host}
links:                        # number: of parallel links; plane: of networks side by side
- {source: h0, destination: h1, class: host, duplex: true}
groups:                       # optional
  rack0: [h0, h1]

``duplex`` is short for a second link, back. Numbers have the unit of their field's name, or one of their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import yaml

from emulator.network.topology.check import guess
from emulator.network.topology.description import DescriptionError, DescriptionReader
from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind, Place, TopologyError
from emulator.network.topology.topology import Topology
from emulator.ports.units import RATE_UNITS_BPS, SIZE_UNITS_BYTES, TIME_UNITS_NS, quantity_text

UNITS: Mapping[str, Mapping[str, int]] = {
    "rate_bps": RATE_UNITS_BPS,
    "latency_ns": TIME_UNITS_NS,
    "alpha_ns": TIME_UNITS_NS,
    "queue_bytes": SIZE_UNITS_BYTES,
    "mtu_bytes": SIZE_UNITS_BYTES,
}
"""Fields of a class."""
OPTIONAL = tuple(field.name for field in fields(LinkClass) if field.default is not MISSING)

YAML_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
WIDE = 1 << 20
"""Columns of a line: a link is never folded."""


class TopologyFileError(DescriptionError):
    """A file is no topology."""


def read_topology(path: str | Path) -> Topology:
    """Raises TopologyFileError."""
    return parse_topology(_Reader.text_of(path), str(path))


def parse_topology(text: str, file: str = "topology") -> Topology:
    """YAML or JSON, which YAML includes. Raises TopologyFileError; ``file`` is its name there."""
    reader = _Reader(file)
    return reader.topology(reader.compose(text, "classes, nodes and links"))


def topology_json(topology: Topology) -> str:
    """The file's text, which is the same again for what `parse_topology` makes of it."""
    return json.dumps(_document(topology), indent=1) + "\n"


def topology_yaml(topology: Topology) -> str:
    """The same for people: quantities have units."""
    document = _document(topology)
    for each in document["classes"].values():
        each.update({name: quantity_text(each[name], units) for name, units in UNITS.items()})
    text: str = yaml.dump(document, Dumper=YAML_DUMPER, default_flow_style=None, sort_keys=False, width=WIDE)
    return text


def write_topology(topology: Topology, path: str | Path) -> None:
    """As JSON where the name ends in .json, else as YAML. Raises OSError."""
    as_json = Path(path).suffix == ".json"
    Path(path).write_text(topology_json(topology) if as_json else topology_yaml(topology), encoding="utf-8")


def _document(topology: Topology) -> dict[str, Any]:
    classes = {each.name: {name: getattr(each, name) for name in UNITS} for each in topology.classes.values()}
    nodes = []
    for node in topology.nodes:
        entry: dict[str, Any] = {"name": node.name, "kind": str(node.kind)}
        nodes.append({**entry, "coordinates": list(node.coordinates)} if node.coordinates else entry)
    links, remaining = [], list(reversed(topology.links))
    while remaining:
        link = remaining.pop()
        entry = {"source": link.source, "destination": link.destination, "class": link.link_class.name}
        entry |= {name: value for name in ("number", "plane") if (value := getattr(link, name))}
        if remaining and remaining[-1] == link.reverse:
            remaining.pop()
            entry["duplex"] = True
        links.append(entry)
    document = {"name": topology.name, "classes": classes, "nodes": nodes, "links": links}
    groups = {name: list(members) for name, members in topology.groups.items()}
    return {**document, "groups": groups} if groups else document


class _Reader(DescriptionReader):
    wrong = TopologyFileError

    def topology(self, document: Any) -> Topology:
        top = self.record(document, (), ("classes", "nodes", "links"), ("name", "groups"))
        classes = {name: self._class(name, each) for name, each in self.items(top, "classes", dict)}
        nodes = tuple(self._node(each, ("nodes", index)) for index, each in self.items(top, "nodes", list))
        cables = [self._cable(each, ("links", index), classes) for index, each in self.items(top, "links", list)]
        groups = {}
        for name, members in self.items({"groups": {}, **top}, "groups", dict):
            each = enumerate(self.expect(list, members, ("groups", name)))
            groups[name] = tuple(self.expect(str, member, ("groups", name, index)) for index, member in each)
        links = tuple(link for cable in cables for link in cable)
        try:
            name = self.expect(str, top.get("name", Path(self.file).stem), ("name",))
            return Topology(name, nodes, links, groups)
        except TopologyError as error:
            place = error.place
            if place[:1] == ("links",) and len(place) > 1:  # the number of a link: a duplex entry makes two
                entries = [index for index, cable in enumerate(cables) for _ in cable]
                place = ("links", entries[int(place[1])], *place[2:])
            raise self.error(error.text, place) from None

    def _class(self, name: str, value: Any) -> LinkClass:
        place = ("classes", name)
        given = self.record(value, place, tuple(each for each in UNITS if each not in OPTIONAL), OPTIONAL)
        return LinkClass(name, **{each: self._number(text, (*place, each)) for each, text in given.items()})

    def _node(self, value: Any, place: Place) -> Node:
        given = {"coordinates": [], **self.record(value, place, ("name", "kind"), ("coordinates",))}
        name, kind = (self.expect(str, given[each], (*place, each)) for each in ("name", "kind"))
        if kind not in tuple(NodeKind):
            raise self.error(f"{kind!r} is none of {', '.join(NodeKind)}", (*place, "kind"))
        inside = (*place, "coordinates")
        coordinates = enumerate(self.expect(list, given["coordinates"], inside))
        return Node(name, NodeKind(kind), tuple(self._number(each, (*inside, index)) for index, each in coordinates))

    def _cable(self, value: Any, place: Place, classes: Mapping[str, LinkClass]) -> tuple[Link, ...]:
        """The link, and the one back if it is duplex."""
        texts = ("source", "destination", "class", "duplex")
        given = self.record(value, place, texts[:3], ("number", "plane", "duplex"))
        numbers = {each: self._number(given[each], (*place, each)) for each in ("number", "plane") if each in given}
        given.setdefault("duplex", "false")
        source, destination, name, duplex = (self.expect(str, given[each], (*place, each)) for each in texts)
        if name not in classes:
            raise self.error(f"there is no class {name!r}{guess(name, classes)}", (*place, "class"))
        if duplex not in ("true", "false"):
            raise self.error(f"{duplex!r} is neither true nor false", (*place, "duplex"))
        link = Link(source, destination, classes[name], **numbers)
        return (link, link.reverse) if duplex == "true" else (link,)

    def _number(self, value: Any, place: Place) -> int:
        return self.number(value, place, UNITS.get(str(place[-1]), {}))
