"""P4Info of counters, meters, registers, action profiles, value sets, digests and controller headers."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4 import p4info_ids as ids
from emulator.p4 import types as t
from emulator.p4.errors import Kind
from emulator.p4.key_names import annotation_text
from emulator.p4.lower_records import ExternRecord
from emulator.p4.p4info_symbols import EXTERN_PREFIXES, ControllerHeader, Digest, is_hidden
from emulator.p4.p4info_tables import TableWriter
from emulator.p4.p4info_types import control_name, flattened
from emulator.p4.protos import p4info_pb2

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
        numbers = {a.name: self.annotations.number(a) for a in annotations if a.name.startswith("max_")}
        message.max_group_size = numbers.get("max_group_size") or 0
        semantics = (annotation_text(annotations, "selector_size_semantics") or "").lower()
        if semantics == "sum_of_weights":
            message.sum_of_weights.SetInParent()
        elif semantics == "sum_of_members":
            message.sum_of_members.max_member_weight = numbers.get("max_member_weight") or 0
            message.sum_of_members.SetInParent()
        elif semantics:
            text = f'@selector_size_semantics takes "sum_of_weights" or "sum_of_members", not {semantics!r}'
            self.annotations.report(record.symbol.at, text)

    # --- value sets, digests -------------------------------------------------------------------------------------

    def value_set(self, value_set: ir.ValueSet) -> None:
        message = self.info.value_sets.add()
        self.preamble(message.preamble, ids.VALUE_SET, value_set.name, ())
        for number, field in enumerate(value_set.fields, 1):
            match = message.match.add()
            match.id = number
            match.name = field.name
            assert isinstance(field.type, ir.Bits | ir.Bool)
            match.bitwidth = field.type.width_bits if isinstance(field.type, ir.Bits) else 1
            match.match_type = p4info_pb2.MatchField.MatchType.Value(field.match_kind.upper())
        message.size = value_set.size

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
                self.annotations.report(field.at, text, Kind.TARGET)
            type_name = self.types.type_name(field.type)
            if type_name:
                found.type_name.name = type_name
            self.annotations.copy(found, field.annotations)


def _size(record: ExternRecord) -> int:
    return int(record.instance.arguments[0])
