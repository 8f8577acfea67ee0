"""Topologies as YAML or JSON, one form for both:

name: pair
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
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import yaml

from emulator.network.topology.check import guess
from emulator.network.topology.parts import Link, LinkClass, Node, NodeKind, Place, TopologyError
from emulator.network.topology.topology import Topology
from emulator.ports.units import RATE_UNITS_BPS, SIZE_UNITS_BYTES, TIME_UNITS_NS, quantity, quantity_text

UNITS: Mapping[str, Mapping[str, int]] = {
    "rate_bps": RATE_UNITS_BPS,
    "latency_ns": TIME_UNITS_NS,
    "alpha_ns": TIME_UNITS_NS,
    "queue_bytes": SIZE_UNITS_BYTES,
    "mtu_bytes": SIZE_UNITS_BYTES,
}
"""Fields of a class."""
OPTIONAL = tuple(field.name for field in fields(LinkClass) if field.default is not MISSING)

YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
YAML_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
WIDE = 1 << 20
"""Columns of a line: a link is never folded."""
MAX_DIGITS = 18
"""Of a number; int64 holds them."""


class TopologyFileError(TopologyError):
    """A file is no topology: ``FILE:LINE: FIELD: what is wrong``."""

    def __init__(self, file: str, line: int, text: str, place: Place = ()) -> None:
        super().__init__(text, place)
        self.args = (file, line, text, place)
        self.file, self.line = file, line

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {super().__str__()}" if self.line else f"{self.file}: {self.text}"


def read_topology(path: str | Path) -> Topology:
    """Raises TopologyFileError."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TopologyFileError(str(path), 0, getattr(error, "strerror", None) or "not UTF-8 text") from None
    return parse_topology(text, str(path))


def parse_topology(text: str, file: str = "topology") -> Topology:
    """YAML or JSON, which YAML includes. Raises TopologyFileError; ``file`` is its name there."""
    try:
        document = yaml.compose(text, Loader=YAML_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "a character that text does not have"
        raise TopologyFileError(file, mark.line + 1 if mark else 1, f"neither YAML nor JSON: {problem}") from None
    if document is None:
        raise TopologyFileError(file, 1, "empty: write name, classes, nodes and links")
    return _Reader(file).topology(document)


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


class _Reader:
    """Reads by the form of the file rather than by YAML's guesses: a node may be called ``no`` or ``1``."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._lines: dict[Place, int] = {}
        """Line of each element that was read."""

    def topology(self, document: yaml.Node) -> Topology:
        top = self._record(document, (), ("name", "classes", "nodes", "links"), ("groups",))
        classes = {name: self._class(name, node) for name, node in self._mapping(top["classes"], ("classes",)).items()}
        nodes = [self._node(node, ("nodes", i)) for i, node in enumerate(self._list(top["nodes"], ("nodes",)))]
        links: list[Link] = []
        entries: list[int] = []  # of each link, as a duplex one is two
        for index, entry in enumerate(self._list(top["links"], ("links",))):
            links += self._links(entry, ("links", index), classes)
            entries += [index] * (len(links) - len(entries))
        groups = {}
        if "groups" in top:
            for name, members in self._mapping(top["groups"], ("groups",)).items():
                groups[name] = tuple(self._texts(members, ("groups", name)))
        try:
            return Topology(self._text(top["name"], ("name",)), tuple(nodes), tuple(links), groups)
        except TopologyError as error:
            place = error.place
            if place[:1] == ("links",) and len(place) > 1:
                place = ("links", entries[int(place[1])], *place[2:])
            raise self._error(error.text, place) from None

    def _class(self, name: str, node: yaml.Node) -> LinkClass:
        place = ("classes", name)
        required = tuple(each for each in UNITS if each not in OPTIONAL)
        given = self._record(node, place, required, OPTIONAL)
        return LinkClass(name, **{each: self._number(value, (*place, each)) for each, value in given.items()})

    def _node(self, node: yaml.Node, place: Place) -> Node:
        given = self._record(node, place, ("name", "kind"), ("coordinates",))
        kind = self._text(given["kind"], (*place, "kind"))
        if kind not in tuple(NodeKind):
            raise self._error(f"{kind!r} is none of {', '.join(NodeKind)}", (*place, "kind"))
        places = self._list(given["coordinates"], (*place, "coordinates")) if "coordinates" in given else ()
        coordinates = tuple(self._number(each, (*place, "coordinates", i)) for i, each in enumerate(places))
        return Node(self._text(given["name"], (*place, "name")), NodeKind(kind), coordinates)

    def _links(self, node: yaml.Node, place: Place, classes: Mapping[str, LinkClass]) -> list[Link]:
        given = self._record(node, place, ("source", "destination", "class"), ("number", "plane", "duplex"))
        source, destination, name = (self._text(given[each], (*place, each)) for each in list(given)[:3])
        if name not in classes:
            raise self._error(f"there is no class {name!r}{guess(name, classes)}", (*place, "class"))
        numbers = {each: self._number(given[each], (*place, each)) for each in ("number", "plane") if each in given}
        link = Link(source, destination, classes[name], **numbers)
        duplex = self._text(given["duplex"], (*place, "duplex")) if "duplex" in given else "false"
        if duplex not in ("true", "false"):
            raise self._error(f"{duplex!r} is neither true nor false", (*place, "duplex"))
        return [link, link.reverse] if duplex == "true" else [link]

    def _record(
        self, node: yaml.Node, place: Place, required: Sequence[str], optional: Sequence[str]
    ) -> dict[str, Any]:
        """The values of a mapping with these keys only, in this order."""
        found = self._mapping(node, place)
        known = (*required, *optional)
        for name in found:
            if name not in known:
                rest = f"{guess(name, known)}; the fields are {', '.join(known)}"
                raise self._error(f"unknown field {name!r}{rest}", (*place, name))
        for name in required:
            if name not in found:
                raise self._error(f"{name} is missing", place)
        return {name: found[name] for name in known if name in found}

    def _mapping(self, node: yaml.Node, place: Place) -> dict[str, yaml.Node]:
        self._lines[place] = node.start_mark.line + 1
        if not isinstance(node, yaml.MappingNode):
            raise self._error("this has to be fields with values, as in {name: value}", place)
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = self._text(key, place)
            self._lines[*place, name] = key.start_mark.line + 1
            if name in found:
                raise self._error(f"{name!r} is there twice", (*place, name))
            found[name] = value
        return found

    def _list(self, node: yaml.Node, place: Place) -> list[yaml.Node]:
        self._lines[place] = node.start_mark.line + 1
        if not isinstance(node, yaml.SequenceNode):
            raise self._error("this has to be a list", place)
        values: list[yaml.Node] = node.value
        return values

    def _texts(self, node: yaml.Node, place: Place) -> list[str]:
        return [self._text(each, (*place, index)) for index, each in enumerate(self._list(node, place))]

    def _text(self, node: yaml.Node, place: Place) -> str:
        """A scalar as it is written."""
        self._lines[place] = node.start_mark.line + 1
        if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null":
            raise self._error("this has to be a single value", place)
        text: str = node.value
        return text

    def _number(self, node: yaml.Node, place: Place) -> int:
        text = self._text(node, place)
        units = UNITS.get(str(place[-1]))
        digits = text.removeprefix("-")
        if digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS:
            return int(text)
        if units is None:
            raise self._error(f"{text!r} is not a whole number", place)
        try:
            return quantity(text, units)
        except ValueError as error:
            raise self._error(f"{error}, nor a whole number without", place) from None

    def _error(self, text: str, place: Place) -> TopologyFileError:
        """At the line of the innermost element around ``place`` that was read."""
        known = place
        while known not in self._lines:
            known = known[:-1]
        return TopologyFileError(self.file, self._lines[known], text, place)
