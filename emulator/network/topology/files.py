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
import re
from collections.abc import Iterable, Mapping, Sequence
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
SHAPES = {"dict": "fields with values, as in {name: value}", "list": "a list, as in [a, b]", "str": "a single value"}
WHOLE = re.compile(r"-?[0-9]{1,19}")
"""Numbers that int64 holds."""


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
        self._seen: set[int] = set()

    def topology(self, document: yaml.Node) -> Topology:
        top = self._record(self._plain(document, ()), (), ("name", "classes", "nodes", "links"), ("groups",))
        classes = {name: self._class(name, each) for name, each in self._items(top, "classes", dict)}
        nodes = tuple(self._node(each, ("nodes", index)) for index, each in self._items(top, "nodes", list))
        cables = [self._cable(each, ("links", index), classes) for index, each in self._items(top, "links", list)]
        groups = {}
        for name, members in self._items({"groups": {}, **top}, "groups", dict):
            each = enumerate(self._expect(list, members, ("groups", name)))
            groups[name] = tuple(self._expect(str, member, ("groups", name, index)) for index, member in each)
        links = tuple(link for cable in cables for link in cable)
        try:
            return Topology(self._expect(str, top["name"], ("name",)), nodes, links, groups)
        except TopologyError as error:
            place = error.place
            if place[:1] == ("links",) and len(place) > 1:  # the number of a link: a duplex entry makes two
                entries = [index for index, cable in enumerate(cables) for _ in cable]
                place = ("links", entries[int(place[1])], *place[2:])
            raise self._error(error.text, place) from None

    def _class(self, name: str, value: Any) -> LinkClass:
        place = ("classes", name)
        given = self._record(value, place, tuple(each for each in UNITS if each not in OPTIONAL), OPTIONAL)
        return LinkClass(name, **{each: self._number(text, (*place, each)) for each, text in given.items()})

    def _node(self, value: Any, place: Place) -> Node:
        given = {"coordinates": [], **self._record(value, place, ("name", "kind"), ("coordinates",))}
        name, kind = (self._expect(str, given[each], (*place, each)) for each in ("name", "kind"))
        if kind not in tuple(NodeKind):
            raise self._error(f"{kind!r} is none of {', '.join(NodeKind)}", (*place, "kind"))
        inside = (*place, "coordinates")
        coordinates = enumerate(self._expect(list, given["coordinates"], inside))
        return Node(name, NodeKind(kind), tuple(self._number(each, (*inside, index)) for index, each in coordinates))

    def _cable(self, value: Any, place: Place, classes: Mapping[str, LinkClass]) -> tuple[Link, ...]:
        """The link, and the one back if it is duplex."""
        texts = ("source", "destination", "class", "duplex")
        given = self._record(value, place, texts[:3], ("number", "plane", "duplex"))
        numbers = {each: self._number(given[each], (*place, each)) for each in ("number", "plane") if each in given}
        given.setdefault("duplex", "false")
        source, destination, name, duplex = (self._expect(str, given[each], (*place, each)) for each in texts)
        if name not in classes:
            raise self._error(f"there is no class {name!r}{guess(name, classes)}", (*place, "class"))
        if duplex not in ("true", "false"):
            raise self._error(f"{duplex!r} is neither true nor false", (*place, "duplex"))
        link = Link(source, destination, classes[name], **numbers)
        return (link, link.reverse) if duplex == "true" else (link,)

    def _plain(self, node: yaml.Node, place: Place) -> Any:
        """The element as dict, list or text, as it is written, with all that is in it; their lines are kept."""
        self._lines.setdefault(place, node.start_mark.line + 1)
        if id(node) in self._seen:
            raise self._error("an alias (*name) cannot be used here: write it out", place)
        self._seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            return None if node.tag == "tag:yaml.org,2002:null" else node.value
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(each, (*place, index)) for index, each in enumerate(node.value)]
        found: dict[str, Any] = {}
        for key, value in node.value:
            name = self._expect(str, self._plain(key, place), place)
            self._lines[*place, name] = key.start_mark.line + 1
            if name in found:
                raise self._error(f"{name!r} is there twice", (*place, name))
            found[name] = self._plain(value, (*place, name))
        return found

    def _record(self, value: Any, place: Place, required: Sequence[str], optional: Sequence[str]) -> dict[str, Any]:
        """A mapping with these keys only."""
        found: dict[str, Any] = self._expect(dict, value, place)
        known = (*required, *optional)
        if unknown := [name for name in found if name not in known]:
            hint = f"{guess(unknown[0], known)}; the fields are {', '.join(known)}"
            raise self._error(f"unknown field {unknown[0]!r}{hint}", (*place, unknown[0]))
        if missing := [name for name in required if name not in found]:
            raise self._error(f"{missing[0]} is missing", place)
        return found

    def _items(self, top: Mapping[str, Any], field: str, kind: type) -> Iterable[tuple[Any, Any]]:
        """Keys or indexes with values."""
        values = self._expect(kind, top[field], (field,))
        return values.items() if kind is dict else enumerate(values)

    def _expect(self, kind: type, value: Any, place: Place) -> Any:
        if not isinstance(value, kind):
            raise self._error(f"this has to be {SHAPES[kind.__name__]}", place)
        return value

    def _number(self, value: Any, place: Place) -> int:
        text, units = self._expect(str, value, place), UNITS.get(str(place[-1]))
        if WHOLE.fullmatch(text):
            return int(text)
        try:
            return quantity(text, units or {})
        except ValueError as error:
            wrong = f"{error}, nor a whole number without" if units else f"{text!r} is not a whole number"
            raise self._error(wrong, place) from None

    def _error(self, text: str, place: Place) -> TopologyFileError:
        """At the line of the innermost element around ``place`` that was read."""
        known = place
        while known not in self._lines:
            known = known[:-1]
        return TopologyFileError(self.file, self._lines[known], text, place)
