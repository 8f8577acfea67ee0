"""A switch's state from one program to another: read out as entities, written in as updates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.native.gc_pause import gc_paused
from emulator.p4runtime.entities import registry
from emulator.p4runtime.entities.tables import DELETE, INSERT, MODIFY
from emulator.p4runtime.pipeline.schema import TableSchema
from emulator.p4runtime.view import View, run_change
from emulator.rpc.p4protos import p4runtime_pb2


def carry_over(source: View, target: View) -> None:
    """Write all that can be read from ``source`` into the fresh ``target``. Raises RequestError at the first refusal.

    Entries, default entries, members and groups, replication, value sets and the digests that are on must all fit.
    Counters, meters and registers are carried where the new program has them under the same id; cells it does not have
    are dropped, for they are traffic's state and not the controller's.
    """
    with gc_paused():
        for update in _as_updates(source, target):
            run_change(registry.prepare_write(target, update))


def _as_updates(source: View, target: View) -> Iterator[Any]:
    for table in target.schema.tables.values():
        for entity in list(_entries(target, table)):  # those the program starts with
            if not entity.table_entry.is_const:
                yield _update(DELETE, entity)
    for kind in ("action_profile_member", "action_profile_group"):  # before the entries that lead to them
        yield from (_update(INSERT, entity) for entity in _read_all(source, kind))
    for table in source.schema.tables.values():
        constants = []
        for entity in _entries(source, table):
            if entity.table_entry.is_const:
                constants.append(entity)
            else:
                yield _update(INSERT, entity)
        if constants and table.id in target.schema.tables:
            yield from _of_constants(constants, target, target.schema.tables[table.id])
        if table.id in source.notes.defaults:
            query = p4runtime_pb2.TableEntry(table_id=table.id, is_default_action=True)
            for entity in _read(source, table_entry=query):
                yield _update(MODIFY, entity)
        if table.id in target.schema.tables:
            yield from _default_resources(source, table, target.schema.tables[table.id])
    for kind in ("multicast_group_entry", "clone_session_entry"):
        replication = p4runtime_pb2.PacketReplicationEngineEntry()
        getattr(replication, kind).SetInParent()
        yield from (_update(INSERT, e) for e in _read(source, packet_replication_engine_entry=replication))
    yield from (_update(INSERT, entity) for entity in _read_all(source, "digest_entry"))
    for entity in _read_all(source, "value_set_entry"):
        if entity.value_set_entry.members:
            yield _update(MODIFY, entity)
    for kind in ("counter", "meter", "register"):
        yield from _cells(source, target, kind)


def _entries(view: View, table: TableSchema) -> Iterator[Any]:
    query = p4runtime_pb2.TableEntry(table_id=table.id)
    query.counter_data.SetInParent()
    query.meter_config.SetInParent()
    query.meter_counter_data.SetInParent()
    return _read(view, table_entry=query)


def _of_constants(registry: list[Any], target: View, theirs: TableSchema) -> Iterator[Any]:
    """What controllers and packets have changed of entries that both programs have and keep constant."""
    known = {_key(entity.table_entry) for entity in _entries(target, theirs) if entity.table_entry.is_const}
    for entity in registry:
        entry = entity.table_entry
        if _key(entry) not in known:
            continue
        dropped = ["action", "is_const"]
        dropped += [] if theirs.direct_counter_id else ["counter_data"]
        dropped += [] if theirs.direct_meter_id else ["meter_config", "meter_counter_data"]
        for name in dropped:
            entry.ClearField(name)
        yield _update(MODIFY, entity)


def _key(entry: Any) -> tuple[bytes, ...]:
    return str(entry.priority).encode(), *(match.SerializeToString(deterministic=True) for match in entry.match)


def _default_resources(source: View, ours: TableSchema, theirs: TableSchema) -> Iterator[Any]:
    default = p4runtime_pb2.TableEntry(table_id=ours.id, is_default_action=True)
    if ours.direct_counter_id and theirs.direct_counter_id:
        counter = p4runtime_pb2.DirectCounterEntry(table_entry=default)
        yield from (_update(MODIFY, entity) for entity in _read(source, direct_counter_entry=counter))
    if ours.direct_meter_id and theirs.direct_meter_id:
        meter = p4runtime_pb2.DirectMeterEntry(table_entry=default)
        meter.counter_data.SetInParent()
        yield from (_update(MODIFY, entity) for entity in _read(source, direct_meter_entry=meter))


def _cells(source: View, target: View, kind: str) -> Iterator[Any]:
    ours, theirs = getattr(source.schema, f"{kind}s"), getattr(target.schema, f"{kind}s")
    for object_id in ours.keys() & theirs.keys():
        if kind == "register" and ours[object_id].type_spec != theirs[object_id].type_spec:
            continue
        query = p4runtime_pb2.Entity()
        setattr(getattr(query, f"{kind}_entry"), f"{kind}_id", object_id)
        if kind == "meter":
            query.meter_entry.counter_data.SetInParent()
        for entity in registry.read(source, query):
            if getattr(entity, f"{kind}_entry").index.index < theirs[object_id].size:
                yield _update(MODIFY, entity)


def _read_all(view: View, kind: str) -> Iterator[Any]:
    query = p4runtime_pb2.Entity()
    getattr(query, kind).SetInParent()
    return registry.read(view, query)


def _read(view: View, **kind: Any) -> Iterator[Any]:
    return registry.read(view, p4runtime_pb2.Entity(**kind))


def _update(update_type: int, entity: Any) -> Any:
    return p4runtime_pb2.Update(type=update_type, entity=entity)
