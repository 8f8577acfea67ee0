"""A switch without packets: the control interface over dictionaries, and a program made of nothing but a P4Info."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from google.protobuf import text_format

from emulator.p4runtime.pipeline.device_config import DeviceConfig
from emulator.p4runtime.pipeline.package import Package
from emulator.p4runtime.pipeline.pipeline import Compiled, CompileFailure, Target
from emulator.rpc.p4protos import p4info_pb2
from emulator.switch.control import CloneSession, Code, ControlError, CounterValue, Replicas, TableEntry

P4INFO_TEXT = """
pkg_info { arch: "v1model" }
tables {
  preamble { id: 0x02000001 name: "AllreduceIngress.routes" alias: "routes" }
  match_fields { id: 1 name: "hdr.ipv4.dst" bitwidth: 32 match_type: LPM }
  action_refs { id: 0x01000001 } action_refs { id: 0x01000002 scope: DEFAULT_ONLY } action_refs { id: 0x01000003 }
  direct_resource_ids: 0x13000001
  size: 4
}
tables {
  preamble { id: 0x02000002 name: "AllreduceIngress.jobs" alias: "jobs" }
  match_fields { id: 1 name: "job" bitwidth: 16 match_type: EXACT }
  match_fields { id: 2 name: "port" bitwidth: 9 match_type: EXACT }
  action_refs { id: 0x01000001 } action_refs { id: 0x01000003 scope: TABLE_ONLY } action_refs { id: 0x01000002 }
  size: 1024
}
tables {
  preamble { id: 0x02000003 name: "AllreduceIngress.filter" alias: "filter" }
  match_fields { id: 1 name: "hdr.ethernet.dst" bitwidth: 48 match_type: TERNARY }
  match_fields { id: 2 name: "kind" bitwidth: 4 match_type: EXACT }
  action_refs { id: 0x01000001 } action_refs { id: 0x01000002 }
  const_default_action_id: 0x01000002
  size: 1024
}
tables {
  preamble { id: 0x02000004 name: "AllreduceIngress.fixed" alias: "fixed" }
  match_fields { id: 1 name: "kind" bitwidth: 4 match_type: EXACT }
  action_refs { id: 0x01000001 } action_refs { id: 0x01000002 }
  is_const_table: true has_initial_entries: true
  size: 1024
}
tables {
  preamble { id: 0x02000005 name: "AllreduceIngress.keyless" alias: "keyless" }
  action_refs { id: 0x01000001 } action_refs { id: 0x01000002 }
  size: 1024
}
actions {
  preamble { id: 0x01000001 name: "AllreduceIngress.forward" alias: "forward" }
  params { id: 1 name: "port" bitwidth: 9 } params { id: 2 name: "mac" bitwidth: 48 }
}
actions { preamble { id: 0x01000002 name: "NoAction" alias: "NoAction" } }
actions { preamble { id: 0x01000003 name: "AllreduceIngress.drop" alias: "drop" } }
counters { preamble { id: 0x12000001 name: "AllreduceIngress.drops" alias: "drops" } spec { unit: BOTH } size: 8 }
direct_counters {
  preamble { id: 0x13000001 name: "AllreduceIngress.hits" alias: "hits" } spec { unit: BOTH }
  direct_table_id: 0x02000001
}
registers {
  preamble { id: 0x16000001 name: "AllreduceIngress.sums" alias: "sums" }
  type_spec { bitstring { bit { bitwidth: 32 } } } size: 16
}
registers {
  preamble { id: 0x16000002 name: "AllreduceIngress.signed" alias: "signed" }
  type_spec { bitstring { int { bitwidth: 12 } } } size: 2
}
registers { preamble { id: 0x16000003 name: "AllreduceIngress.flags" alias: "flags" } type_spec { bool {} } size: 2 }
type_info {}
"""

ROUTES, JOBS, FILTER, FIXED, KEYLESS = range(0x02000001, 0x02000006)
FORWARD, NO_ACTION, DROP = range(0x01000001, 0x01000004)
DROPS, SUMS, SIGNED, FLAGS = 0x12000001, 0x16000001, 0x16000002, 0x16000003


def parse_p4info(text: str = P4INFO_TEXT) -> Any:
    return text_format.Parse(text, p4info_pb2.P4Info())


class FakeSwitch:
    """Implements ``emulator.switch.control.Control`` and ``load``."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.loads = 0

    def load(self, program: Any) -> None:
        """``program`` is a P4Info; a table's size is a hard limit here."""
        self.loads += 1
        self.sizes = {table.preamble.id: table.size for table in program.tables}
        self.tables: dict[int, dict[tuple[Any, int], TableEntry]] = {table_id: {} for table_id in self.sizes}
        self.initial = {table_id: TableEntry((), 0, NO_ACTION, ()) for table_id in self.sizes}
        self.defaults = dict(self.initial)
        self.direct = {table.preamble.id for table in program.tables if table.direct_resource_ids}
        self.groups: dict[int, Replicas] = {}
        self.cells: dict[tuple[int, int], Any] = {}
        self.sessions: dict[int, CloneSession] = {}

    def insert_entry(self, table_id: int, entry: TableEntry) -> None:
        table, key = self.tables[table_id], (entry.match, entry.priority)
        if key in table:
            raise ControlError(Code.ALREADY_EXISTS, "the entry is there already")
        if len(table) >= self.sizes[table_id]:
            raise ControlError(Code.RESOURCE_EXHAUSTED, "the table is full")
        table[key] = self._with_counter(table_id, entry, CounterValue(0, 0))

    def modify_entry(self, table_id: int, entry: TableEntry) -> None:
        old = self._find(table_id, entry)
        table = self.tables[table_id]
        table[entry.match, entry.priority] = self._with_counter(table_id, entry, old.counter)

    def delete_entry(self, table_id: int, entry: TableEntry) -> None:
        self._find(table_id, entry)
        del self.tables[table_id][entry.match, entry.priority]

    def entry(self, table_id: int, key: TableEntry) -> TableEntry:
        return self._find(table_id, key)

    def entries(self, table_id: int) -> Iterable[TableEntry]:
        return self.tables[table_id].values()

    def row_keys(self, table_id: int) -> tuple[()]:
        """It takes no rows."""
        return ()

    def _find(self, table_id: int, entry: TableEntry) -> TableEntry:
        found = self.tables[table_id].get((entry.match, entry.priority))
        if found is None:
            raise ControlError(Code.NOT_FOUND, "no such entry")
        return found

    def _with_counter(self, table_id: int, entry: TableEntry, old: CounterValue | None) -> TableEntry:
        return replace(entry, counter=(entry.counter or old) if table_id in self.direct else None)

    def set_default_entry(self, table_id: int, entry: TableEntry) -> None:
        self.defaults[table_id] = entry

    def reset_default_entry(self, table_id: int) -> None:
        self.defaults[table_id] = self.initial[table_id]

    def default_entry(self, table_id: int) -> TableEntry:
        return self.defaults[table_id]

    def insert_multicast_group(self, group_id: int, replicas: Replicas) -> None:
        if group_id in self.groups:
            raise ControlError(Code.ALREADY_EXISTS, "the group is there already")
        self.groups[group_id] = replicas

    def modify_multicast_group(self, group_id: int, replicas: Replicas) -> None:
        if group_id not in self.groups:
            raise ControlError(Code.NOT_FOUND, "no such group")
        self.groups[group_id] = replicas

    def delete_multicast_group(self, group_id: int) -> None:
        if self.groups.pop(group_id, None) is None:
            raise ControlError(Code.NOT_FOUND, "no such group")

    def multicast_groups(self) -> Mapping[int, Replicas]:
        return self.groups

    def set_clone_session(self, session: CloneSession) -> None:
        self.sessions[session.session_id] = session

    def delete_clone_session(self, session_id: int) -> None:
        if self.sessions.pop(session_id, None) is None:
            raise ControlError(Code.NOT_FOUND, "no such session")

    def clone_sessions(self) -> Mapping[int, CloneSession]:
        return self.sessions

    def read_counter(self, counter_id: int, index: int) -> CounterValue:
        return self.cells.get((counter_id, index), CounterValue(0, 0))

    def write_counter(self, counter_id: int, index: int, value: CounterValue) -> None:
        self.cells[counter_id, index] = value

    def read_register(self, register_id: int, index: int) -> int:
        return self.cells.get((register_id, index), 0)

    def write_register(self, register_id: int, index: int, value: int) -> None:
        self.cells[register_id, index] = value


def compile_p4info(package: DeviceConfig) -> Compiled:
    """Takes a P4Info in text form for P4 source; ``#error`` in it does not compile."""
    assert isinstance(package, Package)
    text = package.files[package.main].decode()
    if "#error" in text:
        raise CompileFailure(f"{package.main}:1:1: error: as asked\n#error\n^")
    p4info = parse_p4info(text or P4INFO_TEXT)
    return Compiled(p4info, p4info)


def fake_target() -> Target:
    make: Any = FakeSwitch  # it lacks the methods that no test calls
    switch = make()
    return Target(switch, lambda: switch.lock, compile_p4info, make)
