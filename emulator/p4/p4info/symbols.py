"""Objects of a program's P4Info, in p4c's order, with ids and aliases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from emulator.p4 import ir
from emulator.p4.check import resolved as r
from emulator.p4.check import type_system as t
from emulator.p4.check.annotations import annotation_text, control_name
from emulator.p4.check.reporting import declared_at, report, warn
from emulator.p4.errors import Kind
from emulator.p4.lower.lowering import Lowered
from emulator.p4.lower.records import (
    ActionRecord,
    BlockInstance,
    ExternRecord,
    TableRecord,
    ValueSetRecord,
    digest_calls,
    digest_name,
)
from emulator.p4.p4info import ids
from emulator.p4.p4info.annotations import AnnotationWriter
from emulator.p4.p4info.types import declared_annotations
from emulator.p4.syntax import tree as s

EXTERN_PREFIXES = {
    "counter": ids.COUNTER, "direct_counter": ids.DIRECT_COUNTER, "meter": ids.METER,
    "direct_meter": ids.DIRECT_METER, "register": ids.REGISTER, "action_profile": ids.ACTION_PROFILE,
    "action_selector": ids.ACTION_PROFILE,
}  # fmt: skip
DIRECT = ("direct_counter", "direct_meter")


@dataclass(frozen=True, slots=True)
class ControllerHeader:
    """A header type that packets to and from the controller carry in front."""

    name: str
    """Name of the annotation: ``packet_in``."""
    type: t.StructLike
    annotations: s.Annotations


@dataclass(frozen=True, slots=True)
class Digest:
    name: str
    type: t.Type


class Symbols:
    """Everything that has a preamble; @hidden tables, actions and controller headers are left out.

    Hidden actions have ids nevertheless: tables refer to them.
    """

    def __init__(self, lowered: Lowered, program: r.Program, writer: AnnotationWriter) -> None:
        self.lowered = lowered
        self.writer = writer
        self.tables = [record for record in self._records(TableRecord) if not is_hidden(record.symbol.annotations)]
        every_action = list(self._actions())
        self.actions = [record for record in every_action if not is_hidden(record.symbol.annotations)]
        self.hidden_actions = [record for record in every_action if is_hidden(record.symbol.annotations)]
        self.attached = self._attached()
        self.externs = [e for e in self._externs() if e.instance.extern in EXTERN_PREFIXES]
        self.has_instances = bool(lowered.program.externs)
        self.value_sets = list(self._records(ValueSetRecord))
        self.digests = self._digests()
        self.controller_headers = list(self._controller_headers(program))
        self._check_names()
        self.ids = self._assign()
        self.aliases = ids.aliases(name for _, name in self.ids)

    # --- collecting ----------------------------------------------------------------------------------------------

    def _members(self, instance: BlockInstance) -> Iterator[Any]:
        """An inlined control's members are in the place of its declaration."""
        for member in instance.members:
            if isinstance(member, BlockInstance):
                yield from self._members(member)
            else:
                yield member

    def _records(self, kind: type) -> Iterator[Any]:
        """In the package's order; tables and actions only if something uses them."""
        for _, instance in self.lowered.blocks:
            for member in self._members(instance):
                if isinstance(member, kind) and getattr(member, "table", member) is not None:
                    yield member

    def _externs(self) -> Iterator[ExternRecord]:
        """Indirect ones in order of declaration, then direct ones in the order of their tables."""
        found = [*self.lowered.globals, *self._records(ExternRecord)]
        yield from (e for e in found if e.instance.extern not in DIRECT)
        by_name = {e.instance.name: e for e in found if e.instance.extern in DIRECT}
        yield from (by_name[name] for name in self.attached if name in by_name)

    def _actions(self) -> Iterator[ActionRecord]:
        """For each control: the top-level actions it uses first, then its own, in declaration order.

        Used by tables or called by the control's statements: p4c inlines only what other actions call.
        """
        seen: set[str] = set()
        global_by_symbol = {record.symbol: record for record in self.lowered.global_actions}
        for name, instance in self.lowered.blocks:
            used: list[ActionRecord] = []
            own: list[ActionRecord] = []
            called = self.lowered.called.get(name, ())
            for member in self._members(instance):
                if isinstance(member, ActionRecord) and (member.action is not None or member in called):
                    own.append(member)
                elif isinstance(member, TableRecord) and member.table is not None:
                    found = [global_by_symbol.get(listed.action) for listed in member.symbol.actions]
                    used.extend(record for record in found if record is not None)
            used.extend(record for record in called if global_by_symbol.get(record.symbol) is record)
            for record in (*used, *own):
                if record.name not in seen:
                    seen.add(record.name)
                    yield record

    def _attached(self) -> dict[str, TableRecord]:
        """Direct counters, then direct meters, of each table: name to the table they belong to."""
        found: dict[str, TableRecord] = {}
        for record in self.tables:
            for instance in direct_resources(record):
                if instance.name in found:
                    at = next(iter(record.symbol.properties.values()))[1]
                    text = f"{instance.name} belongs to table {found[instance.name].name} already"
                    report(self.writer, at, text, Kind.TARGET)
                found.setdefault(instance.name, record)
        return found

    def _digests(self) -> list[Digest]:
        found: dict[str, Digest] = {}
        unnamed = 0
        for call in digest_calls(self.lowered.blocks):
            type_ = call.type_arguments[0]
            name = digest_name(type_)
            if name is None:
                name, unnamed = f"digest_{unnamed}", unnamed + 1
                warn(self.writer, call.at, f"the digest's type {type_} has no name: P4Info calls it {name!r}")
            found.setdefault(name, Digest(name, type_))
        return list(found.values())

    def _controller_headers(self, program: r.Program) -> Iterator[ControllerHeader]:
        for type_ in program.declarations:
            if isinstance(type_, t.StructLike) and type_.kind == "header":
                annotations = declared_annotations(type_)
                name = annotation_text(annotations, "controller_header")
                if name is not None and not is_hidden(annotations):
                    yield ControllerHeader(name, type_, annotations)

    # --- ids -----------------------------------------------------------------------------------------------------

    def _named(self) -> Iterator[tuple[int, str, s.Annotations, int]]:
        """(type byte, name that is hashed, annotations, token)."""
        for action in (*self.actions, *self.hidden_actions):
            yield ids.ACTION, action.name, action.symbol.annotations, action.symbol.at
        for table in self.tables:
            yield ids.TABLE, table.name, table.symbol.annotations, table.symbol.at
        for extern in self.externs:
            prefix = EXTERN_PREFIXES[extern.instance.extern]
            yield prefix, extern.instance.name, extern.symbol.annotations, extern.symbol.at
        for value_set in self.value_sets:
            yield ids.VALUE_SET, value_set.value_set.name, value_set.symbol.annotations, value_set.symbol.at
        for digest in self.digests:
            yield ids.DIGEST, digest.name, (), 0
        for header in self.controller_headers:
            at = header.type.declaration.name_at
            yield ids.CONTROLLER_HEADER, control_name(header.type), header.annotations, at

    def _check_names(self) -> None:
        seen: dict[tuple[int, str], int] = {}
        for prefix, name, _, at in self._named():
            if (prefix, name) in seen and at:
                notes = declared_at(self.writer, seen[prefix, name])
                text = f"two objects of one kind have the control-plane name {name!r}"
                report(self.writer, at, text, Kind.DUPLICATE, notes)
            seen.setdefault((prefix, name), at)

    def _assign(self) -> dict[tuple[int, str], int]:
        named: dict[int, list[str]] = {}
        explicit: dict[tuple[int, str], int] = {}
        for prefix, name, written, at in self._named():
            named.setdefault(prefix, []).append(name)
            number = self._explicit(written, prefix)
            if number is not None:
                if number in explicit.values():
                    report(self.writer, at, f"@id({number:#x}) is used twice", Kind.DUPLICATE)
                explicit[prefix, name] = number
        return ids.assign_ids(named, explicit)

    def _explicit(self, annotations: s.Annotations, prefix: int) -> int | None:
        for annotation in annotations:
            if annotation.name != "id":
                continue
            number = self.writer.number(annotation)
            if number is None:
                return None
            full = number if number >> 24 else prefix << 24 | number
            if full >> 24 != prefix:
                report(self.writer, annotation, f"@id({number:#x}): wrong 8-bit prefix, it must be {prefix:#04x}")
            return full & ids.WORD
        return None


def is_hidden(annotations: s.Annotations) -> bool:
    return any(a.name == "hidden" for a in annotations)


def direct_resources(record: TableRecord) -> list[ir.ExternInstance]:
    """A table's direct counter, then its direct meter."""
    assert record.table is not None
    return sorted((i for i in record.table.attached if i.extern in DIRECT), key=lambda i: i.extern)
