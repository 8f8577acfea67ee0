"""P4Info of counters, meters, registers, action profiles, value sets, digests and controller headers."""

from __future__ import annotations

from typing import Any

from emulator.p4.check import type_system as t
from emulator.p4.check.annotations import annotation_text, control_name
from emulator.p4.check.reporting import report, warn
from emulator.p4.errors import Kind
from emulator.p4.lower.records import ExternRecord, ValueSetRecord
from emulator.p4.p4info import ids
from emulator.p4.p4info.symbols import EXTERN_PREFIXES, ControllerHeader, Digest, is_hidden
from emulator.p4.p4info.tables import TableWriter
from emulator.p4.p4info.types import field_name, flattened
from emulator.p4.syntax import tree as s
from emulator.rpc.p4protos import p4info_pb2

_UNITS = {"packets": "PACKETS", "bytes": "BYTES", "packets_and_bytes": "BOTH"}
_PROFILE_ANNOTATIONS = frozenset(("max_group_size", "max_member_weight", "selector_size_semantics"))


class ExternWriter(TableWriter):
    def extern(self, record: ExternRecord) -> None:
        kind = record.instance.extern
        if kind in ("action_profile", "action_selector"):
            self._profile(record)
            return
        lists = {
            "counter": self.info.counters, "direct_counter": self.info.direct_counters, "meter": self.info.meters,
            "direct_meter": self.info.direct_meters, "register": self.info.registers,
        }  # fmt: skip
        message = lists[kind].add()
        self.preamble(message.preamble, EXTERN_PREFIXES[kind], record.instance.name, record.symbol.annotations)
        if kind.endswith("counter"):
            message.spec.unit = p4info_pb2.CounterSpec.Unit.Value(_UNITS[str(record.instance.arguments[-1])])
        elif kind.endswith("meter"):
            message.spec.unit = p4info_pb2.MeterSpec.Unit.Value(_UNITS[str(record.instance.arguments[-1])])
        if kind.startswith("direct_"):
            message.direct_table_id = self.symbols.ids[ids.TABLE, self.symbols.attached[record.instance.name].name]
        else:
            message.size = _size(record)
        if kind == "register":
            type_ = t.substitute(record.symbol.type, record.types)
            assert isinstance(type_, t.ExternType)
            self.types.describe(message.type_spec, type_.arguments[0])

    def _profile(self, record: ExternRecord) -> None:
        message = self.info.action_profiles.add()
        annotations = record.symbol.annotations
        key = ids.ACTION_PROFILE, record.instance.name
        self.preamble(message.preamble, *key, annotations, _PROFILE_ANNOTATIONS)
        users = [x for x in self.symbols.tables if x.table is not None and record.instance in x.table.attached]
        message.table_ids.extend(self.symbols.ids[ids.TABLE, x.name] for x in sorted(users, key=lambda x: x.name))
        is_selector = record.instance.extern == "action_selector"
        message.size = int(record.instance.arguments[1 if is_selector else 0])
        if not is_selector:
            return
        message.with_selector = True
        first = {a.name: a for a in reversed(annotations) if a.name.startswith("max_")}
        numbers = {name: self.annotations.number(annotation) for name, annotation in first.items()}
        message.max_group_size = numbers.get("max_group_size") or 0
        semantics = (annotation_text(annotations, "selector_size_semantics") or "").lower()
        if semantics == "sum_of_weights":
            message.sum_of_weights.SetInParent()
        elif semantics == "sum_of_members":
            message.sum_of_members.max_member_weight = numbers.get("max_member_weight") or 0
            message.sum_of_members.SetInParent()
        elif semantics:
            text = f'@selector_size_semantics takes "sum_of_weights" or "sum_of_members", not {semantics!r}'
            report(self.annotations, record.symbol.at, text)

    # --- value sets, digests -------------------------------------------------------------------------------------

    def value_set(self, record: ValueSetRecord) -> None:
        message = self.info.value_sets.add()
        self.preamble(message.preamble, ids.VALUE_SET, record.value_set.name, record.symbol.annotations)
        message.size = record.value_set.size
        element = t.substitute(record.symbol.element, record.types)
        if isinstance(element, t.StructLike):
            numbers = self.inner_ids([f.annotations for f in element.fields.values()])
            for field, number in zip(element.fields.values(), numbers, strict=True):
                match = self._match(message, number, field_name(field), field.type)
                kind = self._match_kind(field.annotations)
                match.match_type = p4info_pb2.MatchField.MatchType.Value(kind)
                self.annotations.copy(match, field.annotations, frozenset(("match",)))
        elif isinstance(element, t.EnumType):  # one for each member: so p4c does
            for number, name in enumerate(element.members, 1):
                self._match(message, number, name, element)
        elif isinstance(element, t.TupleType):
            text = "P4Info has no form for a value set of tuples, p4c writes none: here its fields are 0, 1, ..."
            warn(self.annotations, record.symbol.at, text)
            for number, item in enumerate(element.items):
                self._match(message, number + 1, str(number), item)
        else:
            self._match(message, 1, "", element)

    def _match(self, message: Any, number: int, name: str, type_: t.Type) -> Any:
        """An exact match."""
        match = message.match.add()
        match.id = number
        match.name = name
        match.bitwidth = self.types.bit_width(type_)
        match.match_type = p4info_pb2.MatchField.EXACT
        type_name = self.types.type_name(type_)
        if type_name:
            match.type_name.name = type_name
        return match

    def _match_kind(self, annotations: s.Annotations) -> str:
        """The kind in ``@match(kind)`` on a field of a value set's struct."""
        for annotation in annotations:
            if annotation.name == "match" and annotation.tokens:
                kind = annotation.tokens[0].upper()
                if kind in p4info_pb2.MatchField.MatchType.keys():  # noqa: SIM118  (an enum wrapper, no mapping)
                    return kind
                report(
                    self.annotations, annotation, f"a value set cannot match by {annotation.tokens[0]!r}", Kind.TARGET
                )
        return "EXACT"

    def digest(self, digest: Digest) -> None:
        message = self.info.digests.add()
        self.preamble(message.preamble, ids.DIGEST, digest.name, ())
        self.types.describe(message.type_spec, digest.type)

    # --- controller headers --------------------------------------------------------------------------------------

    def controller_header(self, header: ControllerHeader) -> None:
        message = self.info.controller_packet_metadata.add()
        message.preamble.id = self.symbols.ids[ids.CONTROLLER_HEADER, control_name(header.type)]
        message.preamble.name = message.preamble.alias = header.name
        self.annotations.copy(message.preamble, header.annotations)
        fields = [(name, f) for name, f in flattened(header.type) if not is_hidden(f.annotations)]
        for (name, field), number in zip(fields, self.inner_ids([f.annotations for _, f in fields]), strict=True):
            found = message.metadata.add()
            found.id = number
            found.name = name
            found.bitwidth = self.types.bit_width(field.type)
            if not found.bitwidth and not isinstance(field.type, t.NewType):
                text = f"the control plane cannot read a field of type {field.type}"
                report(self.annotations, field.at, text, Kind.TARGET)
            type_name = self.types.type_name(field.type)
            if type_name:
                found.type_name.name = type_name
            self.annotations.copy(found, field.annotations)


def _size(record: ExternRecord) -> int:
    return int(record.instance.arguments[0])
