"""Construction of a `Schema` from a P4Info, and the comparison of two P4Infos."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import fields
from typing import Any

from emulator.p4runtime.errors import invalid
from emulator.p4runtime.pipeline.schema import (
    ActionSchema,
    CounterSchema,
    DigestSchema,
    FieldSchema,
    MatchKind,
    MeterSchema,
    PacketHeaderSchema,
    ParameterSchema,
    ProfileSchema,
    RegisterSchema,
    Schema,
    Scope,
    TableSchema,
    ValueSetSchema,
)
from emulator.rpc.p4protos import p4info_pb2


def build_schema(p4info: Any, removed: Collection[int] = ()) -> Schema:
    """Index a p4.config.v1.P4Info. ``@hidden`` actions, referred to but not described, cannot be written, and neither
    can objects with the ids ``removed``."""
    described = {action.preamble.id for action in p4info.actions}.difference(removed)
    absent: dict[int, str] = {}

    def present(objects: Iterable[Any]) -> list[Any]:
        kept = []
        for each in objects:
            if each.preamble.id in removed:
                absent[each.preamble.id] = each.preamble.name
            else:
                kept.append(each)
        return kept

    return Schema(
        tables={table.preamble.id: _table(table, described) for table in present(p4info.tables)},
        actions={action.preamble.id: _action(action) for action in present(p4info.actions)},
        counters={c.preamble.id: _counter(c, c.size) for c in present(p4info.counters)},
        direct_counters={c.preamble.id: _counter(c, 0) for c in p4info.direct_counters},
        registers={register.preamble.id: _register(register) for register in present(p4info.registers)},
        profiles={profile.preamble.id: _profile(profile) for profile in present(p4info.action_profiles)},
        meters={m.preamble.id: _meter(m, m.size) for m in present(p4info.meters)},
        direct_meters={m.preamble.id: _meter(m, 0) for m in p4info.direct_meters},
        value_sets={value_set.preamble.id: _value_set(value_set) for value_set in present(p4info.value_sets)},
        digests={
            d.preamble.id: DigestSchema(d.preamble.id, d.preamble.name, d.type_spec) for d in present(p4info.digests)
        },
        packet_headers={h.preamble.id: _packet_header(h) for h in p4info.controller_packet_metadata},
        types=p4info.type_info,
        removed=absent,
    )


def _table(table: Any, described: set[int]) -> TableSchema:
    return TableSchema(
        id=table.preamble.id,
        name=table.preamble.name,
        fields={f.id: _field(f) for f in table.match_fields},
        scopes={ref.id: _scope(ref.scope, table) for ref in table.action_refs if ref.id in described},
        size=table.size,
        is_const=table.is_const_table,
        default_is_const=table.const_default_action_id != 0,
        direct_counter_id=_direct_resource(table, p4info_pb2.P4Ids.DIRECT_COUNTER),
        direct_meter_id=_direct_resource(table, p4info_pb2.P4Ids.DIRECT_METER),
        implementation_id=table.implementation_id,
        has_idle_timeout=table.idle_timeout_behavior == p4info_pb2.Table.NOTIFY_CONTROL,
    )


def _scope(number: int, table: Any) -> Scope:
    if number not in {scope.value for scope in Scope}:
        raise invalid(f"P4Info: table {table.preamble.name} has an action of unknown scope {number}")
    return Scope(number)


def _direct_resource(table: Any, prefix: int) -> int:
    return next((number for number in table.direct_resource_ids if number >> 24 == prefix), 0)


def _field(field: Any) -> FieldSchema:
    return FieldSchema(field.id, field.name or f"number {field.id}", field.bitwidth, _match_kind(field))


def _match_kind(match_field: Any) -> MatchKind:
    kinds = p4info_pb2.MatchField.MatchType
    name = kinds.Name(match_field.match_type) if match_field.match_type in kinds.values() else ""
    return MatchKind[name] if name in MatchKind.__members__ else MatchKind.OTHER


def _action(action: Any) -> ActionSchema:
    parameters = tuple(ParameterSchema(p.id, p.name, p.bitwidth) for p in action.params)
    return ActionSchema(action.preamble.id, action.preamble.name, parameters)


def _counter(counter: Any, size: int) -> CounterSchema:
    return CounterSchema(counter.preamble.id, counter.preamble.name, size)


def _register(register: Any) -> RegisterSchema:
    return RegisterSchema(register.preamble.id, register.preamble.name, register.size, register.type_spec)


def _profile(profile: Any) -> ProfileSchema:
    return ProfileSchema(
        id=profile.preamble.id,
        name=profile.preamble.name,
        table_ids=tuple(sorted(profile.table_ids)),
        has_groups=profile.with_selector,
        size=profile.size,
        max_group_size=profile.max_group_size,
        counts_members=profile.HasField("sum_of_members"),
        max_member_weight=profile.sum_of_members.max_member_weight,
    )


def _meter(meter: Any, size: int) -> MeterSchema:
    is_two_rate = meter.spec.type == p4info_pb2.MeterSpec.TWO_RATE_THREE_COLOR
    return MeterSchema(meter.preamble.id, meter.preamble.name, size, is_two_rate)


def _value_set(value_set: Any) -> ValueSetSchema:
    keys = {field.id: _field(field) for field in value_set.match}
    return ValueSetSchema(value_set.preamble.id, value_set.preamble.name, keys, value_set.size)


def _packet_header(header: Any) -> PacketHeaderSchema:
    parts = tuple(ParameterSchema(m.id, m.name, m.bitwidth) for m in header.metadata)
    return PacketHeaderSchema(header.preamble.id, header.preamble.name, parts)


def check_agreement(own: Any, given: Any) -> None:
    """A P4Info sent along with a program must describe that program: raises INVALID_ARGUMENT at the first difference.

    Compared is what messages are encoded by (ids, names, widths, kinds, actions, sizes); annotations, documentation
    and order may differ, as they do between compilers.
    """
    own_schema, given_schema = build_schema(own), build_schema(given)
    for kind in (field.name for field in fields(Schema) if field.name not in ("types", "removed")):
        ours, theirs = getattr(own_schema, kind), getattr(given_schema, kind)
        for object_id in sorted(ours.keys() | theirs.keys()):
            _check_same(kind.removesuffix("s").replace("_", " "), object_id, ours.get(object_id), theirs.get(object_id))


def _check_same(kind: str, object_id: int, ours: Any, theirs: Any) -> None:
    if ours == theirs:
        return
    if ours is None or theirs is None:
        present = theirs or ours
        where = "the P4Info given, not in the program" if ours is None else "the program, not in the P4Info given"
        raise invalid(f"P4Info and program disagree: {kind} {present.name} (id 0x{object_id:08x}) is in {where}")
    names = (field.name for field in fields(ours))
    attribute = next(name for name in names if getattr(ours, name) != getattr(theirs, name))
    raise invalid(
        f"P4Info and program disagree: {kind} {ours.name} has {attribute} {getattr(theirs, attribute)} in the P4Info "
        f"given and {getattr(ours, attribute)} in the program"
    )
