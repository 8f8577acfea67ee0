"""A switch: a program, its state, its control plane. No socket, thread or clock."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.switch.control import Code, Control, ControlError, CounterValue, Replicas, TableEntry
from emulator.switch.engines import CompiledEngine, Engine, InterpretedEngine
from emulator.switch.memory import MULTICAST_GROUPS
from emulator.switch.tables import Table
from emulator.v1model.compiled import CompiledProgram
from emulator.v1model.view import ArrayView

__all__ = ["PortCounters", "Switch"]


@dataclass(frozen=True, slots=True)
class PortCounters:
    """Frames and bytes (without FCS) of one port since the program was loaded (received) or the port made (sent)."""

    rx_frames: int
    rx_bytes: int
    tx_frames: int
    tx_bytes: int


class Switch(Control):
    """Frames in, frames out; see `Control` for what a control plane may do.

    ``lock`` is held by whoever processes a batch or changes state: the live loop around a slice of its work, the
    control plane around a change. The methods here don't take it themselves.
    """

    def __init__(self, *, ports: TxPortTable | None = None) -> None:
        self.ports = ports if ports is not None else TxPortTable()
        self.lock = threading.Lock()
        self.program: CompiledProgram | None = None
        self._engine: Engine | None = None
        self._groups: dict[int, Replicas] = {}
        self._tables: dict[int, Table] = {}
        self._counters: dict[int, ArrayView] = {}
        self._registers: dict[int, ArrayView] = {}

    # --- Data plane -------------------------------------------------------------------------------------------------

    def load(self, program: CompiledProgram) -> None:
        """Replace the program; all state starts from zero, also the multicast groups."""
        make = CompiledEngine if program.engine == "llvm" else InterpretedEngine
        self._engine = make(program, self.ports)
        self.program = program
        self._groups = {}
        self._tables = {view.id: self._engine.tables[view.name] for view in program.view.tables}
        self._counters = {view.id: view for view in program.view.counters}
        self._registers = {view.id: view for view in program.view.registers}

    def process(self, batch: FrameBatch, now_ns: int) -> int | None:
        """Run all frames of the batch; returns when the switch next wants to be called without any (never, so far)."""
        self._loaded.process(batch, now_ns)
        return None

    @property
    def _loaded(self) -> Engine:
        if self._engine is None:
            raise ControlError(Code.NOT_FOUND, "the switch has no program: load one first")
        return self._engine

    @property
    def program_address(self) -> int:
        """Of ``int64 process(void *context, uint64 *address, uint32 *length, uint32 *port, int64 count, int64 now)``;
        0 for an interpreted program, which only `process` runs."""
        return self._engine.program_address if isinstance(self._engine, CompiledEngine) else 0

    @property
    def context_address(self) -> int:
        """First argument of that function."""
        return self._engine.context_address if isinstance(self._engine, CompiledEngine) else 0

    @property
    def drops(self) -> Mapping[str, int]:
        """What became of packets and copies that left by no port, by reason; zeros are left out."""
        return {reason.words: count for reason, count in self._loaded.drops().items() if count}

    @property
    def faults(self) -> Mapping[str, int]:
        """What the program did without effect (an index out of range), by kind; zeros are left out."""
        return {fault.words: count for fault, count in self._loaded.faults().items() if count}

    def port_counters(self, port: int) -> PortCounters:
        ring = self.ports.rings[port]
        return PortCounters(*self._loaded.received(port), int(ring["frames"]), int(ring["bytes"]))

    # --- Tables -----------------------------------------------------------------------------------------------------

    def _table(self, table_id: int) -> Table:
        if table_id not in self._tables:
            raise ControlError(Code.NOT_FOUND, f"there is no table with id {table_id:#x}")
        return self._tables[table_id]

    def insert_entry(self, table_id: int, entry: TableEntry) -> None:
        self._table(table_id).insert(entry)

    def modify_entry(self, table_id: int, entry: TableEntry) -> None:
        self._table(table_id).modify(entry)

    def delete_entry(self, table_id: int, entry: TableEntry) -> None:
        self._table(table_id).delete(entry)

    def entries(self, table_id: int) -> Iterator[TableEntry]:
        return self._table(table_id).listing()

    def set_default_entry(self, table_id: int, entry: TableEntry) -> None:
        self._table(table_id).set_default(entry)

    def reset_default_entry(self, table_id: int) -> None:
        self._table(table_id).reset_default()

    def default_entry(self, table_id: int) -> TableEntry:
        return self._table(table_id).default_entry()

    # --- Multicast --------------------------------------------------------------------------------------------------

    def insert_multicast_group(self, group_id: int, replicas: Replicas) -> None:
        self._check_group(group_id)
        if group_id in self._groups:
            raise ControlError(Code.ALREADY_EXISTS, f"multicast group {group_id} exists")
        self._put_group(group_id, replicas)

    def modify_multicast_group(self, group_id: int, replicas: Replicas) -> None:
        self._check_group_exists(group_id)
        self._put_group(group_id, replicas)

    def delete_multicast_group(self, group_id: int) -> None:
        self._check_group_exists(group_id)
        self._loaded.set_multicast(group_id, ())
        del self._groups[group_id]

    def multicast_groups(self) -> Mapping[int, Replicas]:
        return dict(self._groups)

    def _put_group(self, group_id: int, replicas: Replicas) -> None:
        self._loaded.set_multicast(group_id, replicas)
        self._groups[group_id] = replicas

    def _check_group(self, group_id: int) -> None:
        if not 0 < group_id < MULTICAST_GROUPS:
            raise ControlError(
                Code.OUT_OF_RANGE, f"a multicast group id is 1 .. {MULTICAST_GROUPS - 1}, not {group_id}"
            )

    def _check_group_exists(self, group_id: int) -> None:
        if group_id not in self._groups:
            raise ControlError(Code.NOT_FOUND, f"there is no multicast group {group_id}")

    # --- Counters and registers --------------------------------------------------------------------------------------

    def _array(self, kind: str, arrays: dict[int, ArrayView], array_id: int, index: int) -> ArrayView:
        if array_id not in arrays:
            raise ControlError(Code.NOT_FOUND, f"there is no {kind} with id {array_id:#x}")
        view = arrays[array_id]
        if not 0 <= index < view.size:
            raise ControlError(Code.OUT_OF_RANGE, f"{kind} {view.name} has indices 0 .. {view.size - 1}, not {index}")
        return view

    def read_counter(self, counter_id: int, index: int) -> CounterValue:
        return self._loaded.read_counter(self._array("counter", self._counters, counter_id, index).name, index)

    def write_counter(self, counter_id: int, index: int, value: CounterValue) -> None:
        name = self._array("counter", self._counters, counter_id, index).name
        self._loaded.write_counter(name, index, value)

    def read_register(self, register_id: int, index: int) -> int:
        return self._loaded.read_register(self._array("register", self._registers, register_id, index).name, index)

    def write_register(self, register_id: int, index: int, value: int) -> None:
        view = self._array("register", self._registers, register_id, index)
        if not 0 <= value < 1 << view.width_bits:
            raise ControlError(Code.INVALID_ARGUMENT, f"register {view.name} has {view.width_bits} bits: not {value}")
        self._loaded.write_register(view.name, index, value)
