"""Which entity is handled where: one row for each member of P4Runtime's Entity message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from emulator.p4runtime import entity_counters, entity_registers, entity_replication, entity_tables
from emulator.p4runtime.entity_tables import DELETE, INSERT, MODIFY
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.view import Change, View


@dataclass(frozen=True, slots=True)
class Handler:
    prepare_write: Callable[[View, int, Any], Change]
    """Validates an update against P4Info and returns what carries it out."""
    read: Callable[[View, Any], Iterator[Any]]


HANDLERS: Mapping[str, Handler] = {
    "table_entry": Handler(entity_tables.prepare_write, entity_tables.read),
    "counter_entry": Handler(entity_counters.prepare_counter_write, entity_counters.read_counter),
    "direct_counter_entry": Handler(entity_counters.prepare_direct_counter_write, entity_counters.read_direct_counter),
    "register_entry": Handler(entity_registers.prepare_register_write, entity_registers.read_register),
    "packet_replication_engine_entry": Handler(
        entity_replication.prepare_replication_write, entity_replication.read_replication
    ),
}
"""Not here yet, and refused by name: action profiles, meters, value sets, digests, externs."""


def prepare_write(view: View, update: Any) -> Change:
    """Validate one Update. Raises RequestError."""
    if update.type not in (INSERT, MODIFY, DELETE):
        raise invalid("the update has no type: INSERT, MODIFY or DELETE")
    handler, message = _handler_for(update.entity)
    return handler.prepare_write(view, update.type, message)


def read(view: View, entity: Any) -> Iterator[Any]:
    """All entities that one request selects. Raises RequestError, also while iterating."""
    handler, message = _handler_for(entity)
    return handler.read(view, message)


def _handler_for(entity: Any) -> tuple[Handler, Any]:
    kind = entity.WhichOneof("entity")
    if kind is None:
        raise invalid("the entity is empty, or of a kind this version of P4Runtime does not know")
    if kind not in HANDLERS:
        raise RequestError(Code.UNIMPLEMENTED, f"{kind} is not supported")
    return HANDLERS[kind], getattr(entity, kind)
