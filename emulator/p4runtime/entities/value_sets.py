"""ValueSetEntry: what a parser's value sets hold (P4Runtime, "ValueSetEntry")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.p4runtime.entities.indexed_arrays import check_modify
from emulator.p4runtime.errors import Code, RequestError
from emulator.p4runtime.match_keys import add_match, match_from_proto
from emulator.p4runtime.pipeline.schema import MatchKind, ValueSetSchema
from emulator.p4runtime.view import Change, Undo, View
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import FieldMatch, ValueSetMember, member_part


def prepare_value_set_write(view: View, update_type: int, message: Any) -> Change:
    value_set = view.schema.value_set(message.value_set_id)
    check_modify(update_type, f"value set {value_set.name}")
    keys = [match_from_proto(value_set, member.match) for member in message.members]
    if len(set(keys)) != len(keys):
        raise RequestError(Code.ALREADY_EXISTS, f"value set {value_set.name}: a member occurs twice")
    if len(keys) > value_set.size:
        raise RequestError(
            Code.RESOURCE_EXHAUSTED, f"value set {value_set.name} holds {value_set.size} members, not {len(keys)}"
        )
    members = tuple(_member_from_key(value_set, key) for key in keys)
    return Change(lambda: _write(view, value_set, members, keys), lambda: _remember(view, value_set))


def _member_from_key(value_set: ValueSetSchema, key: tuple[FieldMatch, ...]) -> ValueSetMember:
    by_id = {part.field_id: part for part in key}
    pairs = [
        member_part(by_id.get(field.id), field.width_bits, field.kind is MatchKind.RANGE)
        for field in value_set.fields.values()
    ]
    return ValueSetMember(tuple(first for first, _ in pairs), tuple(second for _, second in pairs))


def _write(
    view: View, value_set: ValueSetSchema, members: tuple[ValueSetMember, ...], keys: list[tuple[FieldMatch, ...]]
) -> None:
    view.control.set_value_set(value_set.id, members)
    view.notes.value_sets[value_set.id] = keys


def _remember(view: View, value_set: ValueSetSchema) -> Undo:
    members, keys = view.control.value_set(value_set.id), view.notes.value_sets.get(value_set.id, [])
    return lambda: _write(view, value_set, members, keys)


def read_value_set(view: View, message: Any) -> Iterator[Any]:
    """One set, or with id 0 all; an empty one has no members."""
    if message.value_set_id:
        value_sets = [view.schema.value_set(message.value_set_id)]
    else:
        value_sets = list(view.schema.value_sets.values())
    for value_set in value_sets:
        entity = p4runtime_pb2.Entity()
        entity.value_set_entry.value_set_id = value_set.id
        for key in view.notes.value_sets.get(value_set.id, []):
            add_match(entity.value_set_entry.members.add().match, key)
        yield entity
