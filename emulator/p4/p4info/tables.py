"""P4Info of tables and actions."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.p4.check import type_system as t
from emulator.p4.check.reporting import fail, report
from emulator.p4.errors import Kind
from emulator.p4.lower.records import ActionRecord, TableRecord
from emulator.p4.p4info import ids
from emulator.p4.p4info.annotations import AnnotationWriter
from emulator.p4.p4info.symbols import Symbols, direct_resources
from emulator.p4.p4info.types import TypeInfo, field_name, padded_bytes
from emulator.p4.syntax import tree as s
from emulator.rpc.p4protos import p4info_pb2

SELECTOR = "selector"
"""Match kind of keys that choose a member of a group: no match field for the control plane."""
_IMPLEMENTATIONS = ("action_profile", "action_selector")


class TableWriter:
    def __init__(self, info: Any, symbols: Symbols, types: TypeInfo, annotations: AnnotationWriter) -> None:
        self.info = info
        self.symbols = symbols
        self.types = types
        self.annotations = annotations

    def preamble(
        self, preamble: Any, prefix: int, name: str, annotations: s.Annotations, but: frozenset[str] = frozenset()
    ) -> None:
        preamble.id = self.symbols.ids[prefix, name]
        preamble.name = name
        preamble.alias = self.symbols.aliases[name]
        self.annotations.copy(preamble, annotations, but)

    # --- tables --------------------------------------------------------------------------------------------------

    def table(self, record: TableRecord) -> None:
        table, symbol = record.table, record.symbol
        assert table is not None
        message = self.info.tables.add()
        self.preamble(message.preamble, ids.TABLE, record.name, symbol.annotations)
        self._match_fields(message, record)
        for listed, lowered in zip(symbol.actions, table.actions, strict=True):
            reference = message.action_refs.add()
            reference.id = self._action_id(lowered.action)
            reference.scope = lowered.scope.value
            self.annotations.copy(reference, listed.annotations)
        self._default_action(message, record)
        message.size = table.size
        for instance in table.attached:
            if instance.extern in _IMPLEMENTATIONS:
                message.implementation_id = self.symbols.ids[ids.ACTION_PROFILE, instance.name]
        for instance in direct_resources(record):
            prefix = ids.DIRECT_COUNTER if instance.extern == "direct_counter" else ids.DIRECT_METER
            message.direct_resource_ids.append(self.symbols.ids[prefix, instance.name])
        if getattr(table, "support_timeout", False):
            message.idle_timeout_behavior = p4info_pb2.Table.NOTIFY_CONTROL
        message.is_const_table = table.entries_are_const
        message.has_initial_entries = bool(table.entries)

    def _action_id(self, name: str) -> int:
        return self.symbols.ids[ids.ACTION, ir.control_plane_action(name)]

    def _default_action(self, message: Any, record: TableRecord) -> None:
        table, symbol = record.table, record.symbol
        assert table is not None
        assert symbol.default is not None
        default = table.default_action
        if table.default_is_const:
            message.const_default_action_id = self._action_id(default.action)
        message.initial_default_action.action_id = self._action_id(default.action)
        own = [p for p in symbol.default.action.parameters if not p.direction]
        numbers = self.inner_ids([p.annotations for p in own])
        for number, argument, parameter in zip(numbers, default.arguments, own, strict=True):
            found = message.initial_default_action.arguments.add()
            found.param_id = number
            found.value = padded_bytes(argument, t.width_bits(t.substitute(parameter.type, record.types)) or 32)

    def _match_fields(self, message: Any, record: TableRecord) -> None:
        assert record.table is not None
        keys = record.symbol.keys
        numbers = self.inner_ids([key.annotations for key in keys])
        for key, lowered, number in zip(keys, record.table.keys, numbers, strict=True):
            if lowered.match_kind == SELECTOR:
                continue
            field = message.match_fields.add()
            field.id = number
            field.name = lowered.name
            kind = lowered.match_kind.upper()
            if kind in p4info_pb2.MatchField.MatchType.keys():  # noqa: SIM118  (an enum wrapper, no mapping)
                field.match_type = p4info_pb2.MatchField.MatchType.Value(kind)
            else:
                field.other_match_type = lowered.match_kind
            type_ = t.substitute(key.value.type, record.types)
            field.bitwidth = self.types.bit_width(type_)
            name = self.types.type_name(type_)
            if name:
                field.type_name.name = name
            self.annotations.copy(field, key.annotations)

    # --- actions -------------------------------------------------------------------------------------------------

    def action(self, record: ActionRecord) -> None:
        message = self.info.actions.add()
        self.preamble(message.preamble, ids.ACTION, record.name, record.symbol.annotations)
        is_called_only = record.action is None  # with all its arguments: none is left to the control plane
        own = [] if is_called_only else [p for p in record.symbol.parameters if not p.direction]
        for parameter, number in zip(own, self.inner_ids([p.annotations for p in own]), strict=True):
            type_ = t.substitute(parameter.type, record.types)
            base = t.unwrapped(type_)
            if not (isinstance(base, t.BitsType | t.EnumType) or base is t.BOOL):
                text = f"the control plane cannot give a parameter of type {type_}"
                fail(self.annotations, parameter.at, text, Kind.TARGET)
            found = message.params.add()
            found.id = number
            found.name = field_name(parameter)
            found.bitwidth = self.types.bit_width(type_)
            name = self.types.type_name(type_, for_parameter=True)
            if name:
                found.type_name.name = name
            self.annotations.copy(found, parameter.annotations)

    def inner_ids(self, annotated: list[s.Annotations]) -> list[int]:
        """Ids of match fields, parameters and packet metadata, explicit ones from @id."""
        explicit: list[int | None] = []
        for written in annotated:
            annotation = next((a for a in written if a.name == "id"), None)
            number = None if annotation is None else self.annotations.number(annotation)
            if annotation is not None and number is not None and (number == 0 or number in explicit):
                text = "@id cannot be 0" if number == 0 else f"@id({number}) is used twice here"
                report(self.annotations, annotation, text, Kind.DUPLICATE if number else Kind.CONSTANT)
                number = None
            explicit.append(number)
        return inner_ids(explicit)


def inner_ids(explicit: list[int | None]) -> list[int]:
    """From 1, counting over explicitly numbered ones and around taken ids."""
    taken = {number for number in explicit if number is not None}
    found: list[int] = []
    counter = 0
    for number in explicit:
        counter += 1
        if number is not None:
            found.append(number)
            continue
        while counter in taken:
            counter += 1
        taken.add(counter)
        found.append(counter)
    return found
