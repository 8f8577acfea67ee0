"""Which entity is handled where: one row for each member of P4Runtime's Entity message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from emulator.p4runtime.entities import (
    counters,
    digests,
    meters,
    profiles,
    registers,
    replication,
    rows,
    tables_read,
    value_sets,
)
from emulator.p4runtime.entities.tables import DELETE, INSERT, MODIFY
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.view import Change, View
from emulator.rpc.p4protos import p4runtime_pb2


@dataclass(frozen=True, slots=True)
class Handler:
    prepare_write: Callable[[View, int, Any], Change]
    """Validates an update against P4Info and returns what carries it out."""
    read: Callable[[View, Any], Iterator[Any]]
    """What one request selects: Entity messages, or bytes of such."""


HANDLERS: Mapping[str, Handler] = {
    "table_entry": Handler(rows.prepare_write, tables_read.read),
    "action_profile_member": Handler(profiles.prepare_member_write, profiles.read_member),
    "action_profile_group": Handler(profiles.prepare_group_write, profiles.read_group),
    "counter_entry": Handler(counters.prepare_counter_write, counters.read_counter),
    "direct_counter_entry": Handler(counters.prepare_direct_counter_write, counters.read_direct_counter),
    "meter_entry": Handler(meters.prepare_meter_write, meters.read_meter),
    "direct_meter_entry": Handler(meters.prepare_direct_meter_write, meters.read_direct_meter),
    "packet_replication_engine_entry": Handler(replication.prepare_replication_write, replication.read_replication),
    "value_set_entry": Handler(value_sets.prepare_value_set_write, value_sets.read_value_set),
    "register_entry": Handler(registers.prepare_register_write, registers.read_register),
    "digest_entry": Handler(digests.prepare_digest_write, digests.read_digest),
}
"""All but ``extern_entry``, which is for other architectures: v1model has no extern that P4Runtime does not name."""


def prepare_write(view: View, update: Any) -> Change:
    """Validate one Update. Raises RequestError."""
    if update.type not in (INSERT, MODIFY, DELETE):
        raise invalid("the update has no type: INSERT, MODIFY or DELETE")
    handler, message = _handler_for(update.entity)
    return handler.prepare_write(view, update.type, message)


def read(view: View, entity: Any) -> Iterator[Any]:
    """All entities that one request selects. Raises RequestError, also while iterating."""
    for found in read_some_serialized(view, entity):
        yield p4runtime_pb2.Entity.FromString(found) if isinstance(found, bytes) else found


def read_some_serialized(view: View, entity: Any) -> Iterator[Any]:
    """As `read`, but some of them as their bytes."""
    if entity.WhichOneof("entity") == "extern_entry" and not entity.extern_entry.ByteSize():
        return iter(())  # all of all types, and there are none
    handler, message = _handler_for(entity)
    return handler.read(view, message)


def _handler_for(entity: Any) -> tuple[Handler, Any]:
    kind = entity.WhichOneof("entity")
    if kind is None:
        raise invalid("the entity is empty, or of a kind this version of P4Runtime does not know")
    if kind not in HANDLERS:
        raise RequestError(Code.UNIMPLEMENTED, f"{kind} is not supported: v1model has no such externs")
    return HANDLERS[kind], getattr(entity, kind)
