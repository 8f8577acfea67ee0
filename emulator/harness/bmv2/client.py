"""A P4Runtime client that says what `Control` says, for switches that are not ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import grpc

from emulator.harness.errors import HarnessError, NotSupported
from emulator.p4runtime.action_calls import fill_call, fill_target
from emulator.p4runtime.entities.bytestrings import decode, encode
from emulator.p4runtime.match_keys import add_match
from emulator.p4runtime.pipeline.schema_build import build_schema
from emulator.rpc.p4protos import p4runtime_pb2 as p4rt
from emulator.rpc.p4runtime_client import DELETE, INSERT, MODIFY, StreamClient, errors_of
from emulator.switch.control import (
    CloneSession,
    Code,
    Control,
    ControlError,
    CounterValue,
    Group,
    Member,
    MeterConfig,
    MeterCounts,
    Rate,
    Replicas,
    TableEntry,
    ValueSetMember,
)

WAIT_S = 30


class P4RuntimeControl(Control):
    """The primary of a switch with the pipeline given. Raises `NotSupported` for what the switch does not implement."""

    def __init__(self, address: str, p4info: Any, device_config: bytes, device_id: int = 0) -> None:
        self._schema = build_schema(p4info)
        self._client = StreamClient(address, device_id, timeout_s=WAIT_S, pipeline_timeout_s=WAIT_S)
        self._groups: dict[int, Replicas] = {}
        self._sessions: dict[int, CloneSession] = {}
        self._client.connect(WAIT_S)
        self._client.arbitrate(1)
        config = p4rt.ForwardingPipelineConfig(p4info=p4info, p4_device_config=device_config)
        self._ask(lambda: self._client.set_pipeline(config))

    def close(self) -> None:
        self._client.close()

    def _write(self, kind: int, entity: Any) -> None:
        self._ask(lambda: self._client.write([(kind, entity)]))

    def _read(self, entity: Any) -> list[Any]:
        entities: list[Any] = self._ask(lambda: self._client.read([entity]))
        return entities

    def _ask(self, call: Any) -> Any:
        try:
            return call()
        except grpc.RpcError as error:
            raise _refusal(error) from None

    # --- Tables -----------------------------------------------------------------------------------------------------

    def _entity(self, table_id: int, entry: TableEntry, *, has_action: bool = True) -> Any:
        entity = p4rt.Entity()
        message = entity.table_entry
        message.table_id, message.priority, message.idle_timeout_ns = table_id, entry.priority, entry.idle_timeout_ns
        add_match(message.match, entry.match)
        if has_action:
            fill_target(message.action, self._schema, entry)
        if entry.meter is not None:
            _fill_meter(message.meter_config, entry.meter)
        return entity

    def insert_entry(self, table_id: int, entry: TableEntry) -> None:
        self._write(INSERT, self._entity(table_id, entry))

    def modify_entry(self, table_id: int, entry: TableEntry) -> None:
        self._write(MODIFY, self._entity(table_id, entry))

    def delete_entry(self, table_id: int, entry: TableEntry) -> None:
        self._write(DELETE, self._entity(table_id, entry, has_action=False))

    def entry(self, table_id: int, key: TableEntry) -> TableEntry:
        """As it was inserted, with the counter as it is now."""
        entity = p4rt.Entity()
        add_match(entity.table_entry.match, key.match)
        entity.table_entry.table_id, entity.table_entry.priority = table_id, key.priority
        entity.table_entry.counter_data.SetInParent()
        found = self._read(entity)
        if not found:
            raise ControlError(Code.NOT_FOUND, "there is no entry with this match")
        data = found[0].table_entry.counter_data
        return TableEntry(
            key.match, key.priority, key.action_id, key.params, CounterValue(data.packet_count, data.byte_count),
            through=key.through, meter=key.meter, idle_timeout_ns=key.idle_timeout_ns,
        )  # fmt: skip

    def entries(self, table_id: int) -> Iterable[TableEntry]:
        raise NotSupported("listing a table's entries is for our own switch")

    def set_default_entry(self, table_id: int, entry: TableEntry) -> None:
        entity = self._entity(table_id, entry)
        entity.table_entry.is_default_action = True
        self._write(MODIFY, entity)

    def reset_default_entry(self, table_id: int) -> None:
        entity = p4rt.Entity()
        entity.table_entry.table_id, entity.table_entry.is_default_action = table_id, True
        self._write(MODIFY, entity)

    def default_entry(self, table_id: int) -> TableEntry:
        raise NotSupported("reading a default entry is for our own switch")

    # --- Action profiles --------------------------------------------------------------------------------------------

    def _member(self, profile_id: int, member: Member) -> Any:
        entity = p4rt.Entity()
        message = entity.action_profile_member
        message.action_profile_id, message.member_id = profile_id, member.member_id
        fill_call(message.action, self._schema, (member.action_id, member.params))
        return entity

    def insert_member(self, profile_id: int, member: Member) -> None:
        self._write(INSERT, self._member(profile_id, member))

    def modify_member(self, profile_id: int, member: Member) -> None:
        self._write(MODIFY, self._member(profile_id, member))

    def delete_member(self, profile_id: int, member_id: int) -> None:
        entity = p4rt.Entity()
        entity.action_profile_member.action_profile_id = profile_id
        entity.action_profile_member.member_id = member_id
        self._write(DELETE, entity)

    def members(self, profile_id: int) -> Iterator[Member]:
        raise NotSupported("listing members is for our own switch")

    def _group(self, profile_id: int, group: Group) -> Any:
        entity = p4rt.Entity()
        message = entity.action_profile_group
        message.action_profile_id, message.group_id = profile_id, group.group_id
        message.max_size = group.max_size or sum(m.weight for m in group.members)
        for member in group.members:
            message.members.add(member_id=member.member_id, weight=member.weight)
        return entity

    def insert_group(self, profile_id: int, group: Group) -> None:
        self._write(INSERT, self._group(profile_id, group))

    def modify_group(self, profile_id: int, group: Group) -> None:
        self._write(MODIFY, self._group(profile_id, group))

    def delete_group(self, profile_id: int, group_id: int) -> None:
        self._write(DELETE, self._group(profile_id, Group(group_id, ())))

    def groups(self, profile_id: int) -> Iterator[Group]:
        raise NotSupported("listing groups is for our own switch")

    # --- Replication ------------------------------------------------------------------------------------------------

    def _multicast(self, kind: int, group_id: int, replicas: Replicas) -> None:
        entity = p4rt.Entity()
        message = entity.packet_replication_engine_entry.multicast_group_entry
        message.multicast_group_id = group_id
        for port, rid in replicas:
            message.replicas.add(egress_port=port, instance=rid)
        self._write(kind, entity)
        self._groups[group_id] = replicas

    def insert_multicast_group(self, group_id: int, replicas: Replicas) -> None:
        self._multicast(INSERT, group_id, replicas)

    def modify_multicast_group(self, group_id: int, replicas: Replicas) -> None:
        self._multicast(MODIFY, group_id, replicas)

    def delete_multicast_group(self, group_id: int) -> None:
        self._multicast(DELETE, group_id, ())
        del self._groups[group_id]

    def multicast_groups(self) -> Mapping[int, Replicas]:
        return self._groups

    def _session(self, kind: int, session: CloneSession) -> None:
        entity = p4rt.Entity()
        message = entity.packet_replication_engine_entry.clone_session_entry
        message.session_id = session.session_id
        message.packet_length_bytes = session.packet_length_bytes
        for port, rid in session.replicas:
            message.replicas.add(egress_port=port, instance=rid)
        self._write(kind, entity)

    def set_clone_session(self, session: CloneSession) -> None:
        if session.packet_length_bytes:
            raise NotSupported("clone sessions that truncate packets are for our own switch: bmv2's PI refuses them")
        self._session(MODIFY if session.session_id in self._sessions else INSERT, session)
        self._sessions[session.session_id] = session

    def delete_clone_session(self, session_id: int) -> None:
        self._session(DELETE, CloneSession(session_id, ()))
        del self._sessions[session_id]

    def clone_sessions(self) -> Mapping[int, CloneSession]:
        return self._sessions

    # --- Cells ------------------------------------------------------------------------------------------------------

    def read_counter(self, counter_id: int, index: int) -> CounterValue:
        entity = p4rt.Entity()
        entity.counter_entry.counter_id, entity.counter_entry.index.index = counter_id, index
        data = self._read(entity)[0].counter_entry.data
        return CounterValue(data.packet_count, data.byte_count)

    def write_counter(self, counter_id: int, index: int, value: CounterValue) -> None:
        entity = p4rt.Entity()
        entity.counter_entry.counter_id, entity.counter_entry.index.index = counter_id, index
        entity.counter_entry.data.packet_count = value.packets
        entity.counter_entry.data.byte_count = value.bytes
        self._write(MODIFY, entity)

    def read_register(self, register_id: int, index: int) -> int:
        entity = p4rt.Entity()
        entity.register_entry.register_id, entity.register_entry.index.index = register_id, index
        data = self._read(entity)[0].register_entry.data.bitstring
        return decode(data, len(data) * 8)

    def write_register(self, register_id: int, index: int, value: int) -> None:
        entity = p4rt.Entity()
        entity.register_entry.register_id, entity.register_entry.index.index = register_id, index
        entity.register_entry.data.bitstring = encode(value)
        self._write(MODIFY, entity)

    def read_meter(self, meter_id: int, index: int) -> MeterConfig | None:
        entity = p4rt.Entity()
        entity.meter_entry.meter_id, entity.meter_entry.index.index = meter_id, index
        message = self._read(entity)[0].meter_entry
        if not message.HasField("config"):
            return None
        config = message.config
        return MeterConfig(Rate.per_second(config.cir, config.cburst), Rate.per_second(config.pir, config.pburst))

    def write_meter(self, meter_id: int, index: int, config: MeterConfig | None) -> None:
        entity = p4rt.Entity()
        entity.meter_entry.meter_id, entity.meter_entry.index.index = meter_id, index
        if config is not None:
            _fill_meter(entity.meter_entry.config, config)
        self._write(MODIFY, entity)

    def read_meter_counts(self, meter_id: int, index: int) -> MeterCounts:
        raise NotSupported("meters' counters by colour are for our own switch: bmv2's PI has none")

    def write_meter_counts(self, meter_id: int, index: int, counts: MeterCounts) -> None:
        raise NotSupported("meters' counters by colour are for our own switch: bmv2's PI has none")

    # --- The rest ---------------------------------------------------------------------------------------------------

    def set_value_set(self, value_set_id: int, members: Sequence[ValueSetMember]) -> None:
        raise NotSupported("value sets are for our own switch")

    def value_set(self, value_set_id: int) -> tuple[ValueSetMember, ...]:
        raise NotSupported("value sets are for our own switch")

    def set_ports_down(self, ports: frozenset[int]) -> None:
        raise NotSupported("taking ports down is for our own switch")

    def has_digests(self, digest_id: int) -> bool:
        return False

    def take_digests(self, digest_id: int, limit: int) -> list[tuple[int, ...]]:
        raise NotSupported("digests are for our own switch")


def _fill_meter(message: Any, config: MeterConfig) -> None:
    message.cir, message.cburst = round(config.committed.per_us * 1e6), config.committed.burst
    message.pir, message.pburst = round(config.peak.per_us * 1e6), config.peak.burst


def _refusal(error: grpc.RpcError) -> HarnessError | ControlError:
    """The first error among the details, else the call's own."""
    code, message = error.code().value[0], error.details() or ""
    for detail in errors_of(error):
        if detail.canonical_code:
            code, message = detail.canonical_code, detail.message
            break
    if code == Code.UNIMPLEMENTED.value:
        return NotSupported(f"the switch does not implement it: {message}")
    known = {c.value: c for c in Code}
    return ControlError(known.get(code, Code.INVALID_ARGUMENT), f"{error.code().name}: {message}")
