"""A switch's P4Info by names: turns our entries into P4Runtime messages and back.

Values travel as canonical bytestrings (P4Runtime, "Bytestrings"): big-endian, no leading zero bytes, zero is one byte.
"""

from __future__ import annotations

import re
from typing import Any

from emulator.rpc.p4protos import p4runtime_pb2 as p4
from hostagent.controller.core.model import Capacity
from hostagent.controller.drivers.p4.entries import TableEntry
from hostagent.protocol.counters import VERDICT_COLUMNS

VERDICT_COUNTER, DROP_COUNTER = "AllreduceIngress.verdicts", "AllreduceIngress.drops"
STATE_REGISTER = "AllreduceIngress.set_epoch"
"""One element per set, two sets per slot."""
LANE_REGISTER = re.compile(r"AllreduceIngress\.sum_[0-9a-f]+")
"""One array for each lane of a frame."""

TABLES = ("AllreduceIngress.jobs", "AllreduceIngress.children", "AllreduceIngress.peers", "AllreduceEgress.copies")

MOST_ROWS = 1023
"""Replication ids are 16 bits: row * 64 + child + 1."""


class WrongProgram(Exception):
    """The switch runs a program that isn't an aggregator; the text says what is missing."""


class P4Names:
    """One program's tables, actions, counters and registers."""

    def __init__(self, p4info: Any):
        self._tables = {table.preamble.name: table for table in p4info.tables}
        self._table_names = {table.preamble.id: table.preamble.name for table in p4info.tables}
        self._actions = {action.preamble.name: action for action in p4info.actions}
        self._action_names = {action.preamble.id: action.preamble.name for action in p4info.actions}
        self._counters = {counter.preamble.name: counter for counter in p4info.counters}
        self._registers = {register.preamble.name: register for register in p4info.registers}
        known = self._tables.keys() | self._counters.keys() | self._registers.keys()
        missing = sorted({*TABLES, VERDICT_COUNTER, DROP_COUNTER, STATE_REGISTER} - known)
        if not any(LANE_REGISTER.fullmatch(name) for name in self._registers):
            missing.append("registers AllreduceIngress.sum_...")
        if missing:
            raise WrongProgram(
                f"the switch's program has no {', '.join(missing)}: it is not an aggregator like allreduce.p4"
            )

    def capacity(self) -> Capacity:
        """What the program was built for, derived from the sizes of its arrays."""
        lanes = sum(1 for name in self._registers if LANE_REGISTER.fullmatch(name))
        rows = min(self._counters[VERDICT_COUNTER].size // VERDICT_COLUMNS, MOST_ROWS)
        slots = self._registers[STATE_REGISTER].size // 2
        return Capacity(slots=slots, lanes=lanes, rows=rows, forwards_messages=True)

    def counter_id(self, name: str) -> int:
        """The id of an indirect counter."""
        return int(self._counters[name].preamble.id)

    def table_id(self, name: str) -> int:
        """The id of a table."""
        return int(self._tables[name].preamble.id)

    def to_message(self, entry: TableEntry) -> Any:
        """Our entry as a p4.v1.Entity."""
        table, action = self._tables[entry.table], self._actions[entry.action]
        fields = {field.name: field.id for field in table.match_fields}
        params = {param.name: param.id for param in action.params}
        message = p4.TableEntry(table_id=table.preamble.id)
        for name, value in entry.match:
            message.match.add(field_id=fields[name]).exact.value = encode(value)
        message.action.action.action_id = action.preamble.id
        for name, value in entry.params:
            message.action.action.params.add(param_id=params[name], value=encode(value))
        return p4.Entity(table_entry=message)

    def from_message(self, entity: Any) -> TableEntry | None:
        """A table entry that was read; None for default entries and tables of others. Order is P4Info's."""
        message = entity.table_entry
        name = self._table_names.get(message.table_id, "")
        if name not in TABLES or message.is_default_action:
            return None
        action = self._actions[self._action_names[message.action.action.action_id]]
        values = {field.field_id: decode(field.exact.value) for field in message.match}
        match = tuple((field.name, values[field.id]) for field in self._tables[name].match_fields)
        values_by_id = {param.param_id: decode(param.value) for param in message.action.action.params}
        params = tuple((param.name, values_by_id[param.id]) for param in action.params if param.id in values_by_id)
        return TableEntry(name, match, action.preamble.name, params)


def encode(value: int) -> bytes:
    """0 or more, any width."""
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big")


def decode(value: bytes) -> int:
    """Padded or not."""
    return int.from_bytes(value, "big")


def group_message(group: int, replicas: tuple[tuple[int, int], ...]) -> Any:
    """A multicast group as a p4.v1.Entity."""
    message = p4.PacketReplicationEngineEntry()
    message.multicast_group_entry.multicast_group_id = group
    for port, rid in replicas:
        message.multicast_group_entry.replicas.add(egress_port=port, instance=rid)
    return p4.Entity(packet_replication_engine_entry=message)


def group_from(entity: Any) -> tuple[int, tuple[tuple[int, int], ...]]:
    """(group id, replicas) of a multicast group that was read."""
    entry = entity.packet_replication_engine_entry.multicast_group_entry
    return entry.multicast_group_id, tuple((_port_of(replica), replica.instance) for replica in entry.replicas)


def _port_of(replica: Any) -> int:
    """Newer servers may answer with the `port` bytes that P4Runtime 1.4 added in place of `egress_port`."""
    return int(replica.egress_port) or decode(getattr(replica, "port", b""))
