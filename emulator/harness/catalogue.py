"""What a program has that a test can name: its control plane's view, with the names of parameters and fields;
and the headers of packets to and from the controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from emulator.harness.errors import WrongTest
from emulator.harness.names import find, unknown
from emulator.harness.values import number
from emulator.v1model.control_view import ActionView, ArrayView, ControlView, ProfileView, TableView, TupleView

PACKET_IN, PACKET_OUT = "packet_in", "packet_out"
"""P4Runtime, "Packet I/O": to the controller, and from it."""


@dataclass(frozen=True, slots=True)
class ControllerHeader:
    """A header that the program declares with ``@controller_header(NAME)``."""

    name: str
    fields: tuple[tuple[str, int], ...]
    """(name, width in bits), in order."""

    def content(self, values: Mapping[str, Any]) -> bytes:
        """The header; fields that are not given are 0. Raises `WrongTest`."""
        names = [name for name, _ in self.fields]
        for name in values:
            if name not in names:
                raise WrongTest(unknown(f"field of header {self.name}", name, names))
        bits, size = 0, 0
        for name, width in self.fields:
            bits = bits << width | number(f"header {self.name}, field {name}", values.get(name, 0), width)
            size += width
        padding = -size % 8
        return (bits << padding).to_bytes((size + padding) // 8, "big")


def controller_headers(p4info: Any) -> dict[str, ControllerHeader]:
    """Controller headers by name."""
    headers = (
        ControllerHeader(c.preamble.name, tuple((m.name, m.bitwidth) for m in c.metadata))
        for c in p4info.controller_packet_metadata
    )
    return {header.name: header for header in headers}


@dataclass(frozen=True, slots=True)
class Direct:
    """A direct counter or meter."""

    name: str
    table_id: int


class Catalogue:
    """Names of one program. All look-ups raise `WrongTest` that lists what exists."""

    def __init__(self, view: ControlView, p4info: Any) -> None:
        self.view = view
        self.parameters = {a.preamble.id: tuple(p.name for p in a.params) for a in p4info.actions}
        self.fields = {v.preamble.id: tuple(m.name for m in v.match) for v in p4info.value_sets}
        self.direct = tuple(
            Direct(d.preamble.name, d.direct_table_id) for d in (*p4info.direct_counters, *p4info.direct_meters)
        )
        self.sample_fields = {d.preamble.id: _sample_fields(p4info, d) for d in p4info.digests}
        self.profile_tables = {p.preamble.id: frozenset(p.table_ids) for p in p4info.action_profiles}
        self._controller_headers = controller_headers(p4info)

    def table(self, name: str) -> TableView:
        return find("table", name, self.view.tables)

    def table_of(self, table_id: int) -> TableView:
        return next(t for t in self.view.tables if t.id == table_id)

    def action(self, table: TableView, name: str) -> ActionView:
        return find(f"action of table {table.name}", name, table.actions)

    def profile_action(self, profile: ProfileView, name: str) -> ActionView:
        tables = [t for t in self.view.tables if t.id in self.profile_tables.get(profile.id, ())]
        return find(f"action of {profile.name}", name, [a for t in tables for a in t.actions])

    def array(self, kind: str, name: str) -> ArrayView:
        """``kind`` is register, counter or meter."""
        arrays: tuple[ArrayView, ...] = getattr(self.view, f"{kind}s")
        for direct in self.direct:
            if name == direct.name or direct.name.endswith("." + name):
                table = self.table_of(direct.table_id)
                raise WrongTest(
                    f"{direct.name} is direct: its cells belong to the entries of table {table.name}; "
                    "keep what add() returns and ask that, for example entry.packets"
                )
        return find(kind, name, arrays)

    def profile(self, name: str) -> ProfileView:
        return find("action profile or selector", name, self.view.profiles)

    def digest(self, name: str) -> TupleView:
        return find("digest", name, self.view.digests)

    def value_set(self, name: str) -> TupleView:
        return find("value set", name, self.view.value_sets)

    def controller_header(self, name: str) -> ControllerHeader:
        header = self._controller_headers.get(name)
        if header is None:
            raise WrongTest(f'no header of the program is the controller\'s: none has @controller_header("{name}")')
        return header

    def arguments(self, action: ActionView, values: dict[str, Any]) -> tuple[int, ...]:
        """Values in declaration order."""
        names = self.parameters.get(action.id, ())
        for name in values:
            if name not in names:
                raise WrongTest(unknown(f"parameter of action {action.name}", name, names))
        missing = [name for name in names if name not in values]
        if missing:
            raise WrongTest(f"action {action.name} needs a value for {', '.join(missing)}")
        widths = zip(names, action.widths_bits, strict=True)
        return tuple(number(f"action {action.name}, parameter {n}", values[n], w) for n, w in widths)


def _sample_fields(p4info: Any, digest: Any) -> tuple[str, ...]:
    """Names of a digest's fields, in order; empty where its type is not a plain struct of scalars."""
    spec = digest.type_spec
    if spec.WhichOneof("type_spec") != "struct":
        return ()
    return tuple(m.name for m in p4info.type_info.structs[spec.struct.name].members)
