"""The two ways to run a program, behind one small interface."""

from __future__ import annotations

from typing import Protocol
from weakref import WeakValueDictionary

from emulator.p4.llvm.machine import LoadedCode
from emulator.ports.batch import MAX_PORTS, FrameBatch, TxPortTable
from emulator.ports.loop.program import call_program
from emulator.switch.control import CloneSession, CounterValue, MeterConfig, MeterCounts, Replicas
from emulator.switch.memory import Memory
from emulator.switch.profiles import ActionProfile
from emulator.switch.tables.flat_table import FlatTable
from emulator.switch.tables.flat_tables import ValueSet, make_flat_table
from emulator.switch.tables.mirror import Mirror
from emulator.switch.tables.tables import Table
from emulator.v1model.compiled import CompiledProgram
from emulator.v1model.control_view import KeyParts, TableView
from emulator.v1model.egress_queues import QueueSettings
from emulator.v1model.layout import SYMBOL
from emulator.v1model.metadata import Drop, Fault
from emulator.v1model.random_numbers import Generator


class Engine(Protocol):
    """A loaded program and its state. Indices have been checked; values are unsigned bit patterns."""

    tables: dict[str, Table]
    profiles: dict[str, ActionProfile]

    def process(self, batch: FrameBatch, now_ns: int) -> int:
        """When the program is to be called again at the latest; -1: never."""
        ...

    def set_queues(self, settings: QueueSettings, queued: CompiledProgram) -> None:
        """From now on packets go through egress queues; ``queued``: the program as `with_egress_queues` makes it."""
        ...

    def read_register(self, name: str, index: int) -> int: ...
    def write_register(self, name: str, index: int, value: int) -> None: ...
    def read_counter(self, name: str, index: int) -> CounterValue: ...
    def write_counter(self, name: str, index: int, value: CounterValue) -> None: ...
    def set_meter(self, name: str, index: int, config: MeterConfig | None) -> None: ...
    def read_meter_counts(self, name: str, index: int) -> MeterCounts: ...
    def write_meter_counts(self, name: str, index: int, counts: MeterCounts) -> None: ...
    def set_multicast(self, group: int, replicas: Replicas) -> None: ...
    def set_session(self, session: CloneSession) -> None:
        """Set a clone session; without replicas it is removed."""
        ...

    def set_value_set(self, name: str, members: tuple[KeyParts, ...]) -> None: ...
    def has_digests(self, name: str) -> bool: ...
    def take_digests(self, name: str, limit: int) -> list[tuple[int, ...]]: ...
    def take_messages(self) -> list[str]: ...
    def has_messages(self) -> bool: ...
    def seed(self, value: int) -> None: ...
    def drops(self) -> dict[Drop, int]: ...
    def faults(self) -> dict[Fault, int]: ...


def make_profiles(program: CompiledProgram) -> dict[str, ActionProfile]:
    """Empty ones, by name."""
    return {view.name: ActionProfile(view) for view in program.view.profiles}


_loaded: WeakValueDictionary[bytes, LoadedCode] = WeakValueDictionary()


def loaded_code(object_code: bytes) -> LoadedCode:
    """A program's machine code, which all switches of a process that run it share: their state is in their memory."""
    code = _loaded.get(object_code)
    if code is None:
        code = _loaded[object_code] = LoadedCode(object_code, SYMBOL)
    return code


class CompiledEngine:
    """Machine code over flat memory."""

    def __init__(self, program: CompiledProgram, ports: TxPortTable) -> None:
        assert program.layout is not None
        self._code = loaded_code(program.object_code)
        self._has_queues = False
        self.memory = Memory(program.layout, ports)
        self.profiles = make_profiles(program)
        self.tables = {}
        for view, layout in zip(program.view.tables, program.layout.tables, strict=True):
            flat = make_flat_table(layout, self.memory.tables[layout.number])
            self.tables[view.name] = Table(view, self._mirror(view, flat), self.profiles.get(view.profile or ""))
        self._value_sets = {
            layout.name: ValueSet(layout, self.memory.tables[layout.number]) for layout in program.layout.value_sets
        }
        self.program_address = self._code.address
        self.context_address = self.memory.address
        self.read_register = self.memory.read_register
        self.write_register = self.memory.write_register
        self.read_counter = self.memory.read_counter
        self.write_counter = self.memory.write_counter
        self.set_meter = self.memory.set_meter
        self.read_meter_counts = self.memory.read_meter_counts
        self.write_meter_counts = self.memory.write_meter_counts
        self.set_multicast = self.memory.set_multicast
        self.set_session = self.memory.set_session
        self.has_digests = self.memory.has_digests
        self.take_digests = self.memory.take_digests
        self.take_messages = self.memory.take_messages
        self.has_messages = self.memory.has_messages
        self.seed = self.memory.seed

    def _mirror(self, view: TableView, flat: FlatTable) -> Mirror:
        """Mirror for observers of a table's changes."""
        return flat

    def set_value_set(self, name: str, members: tuple[KeyParts, ...]) -> None:
        self._value_sets[name].fill(members)

    def process(self, batch: FrameBatch, now_ns: int) -> int:
        """All frames of the batch; the GIL is released meanwhile."""
        return int(call_program(self.program_address, self.context_address, batch.record_address, now_ns))

    def set_queues(self, settings: QueueSettings, queued: CompiledProgram) -> None:
        if not self._has_queues:
            assert queued.layout is not None
            self._code = loaded_code(queued.object_code)
            self.memory.add_arrays(queued.layout)
            self.program_address = self._code.address
            self._has_queues = True
        self.memory.set_queues(settings)

    def drops(self) -> dict[Drop, int]:
        return {reason: int(self.memory.drops[reason.index]) for reason in Drop}

    def faults(self) -> dict[Fault, int]:
        return {fault: int(self.memory.faults[fault.index]) for fault in Fault}


class InterpretedEngine:
    """The oracle."""

    def __init__(self, program: CompiledProgram, ports: TxPortTable) -> None:
        from emulator.switch.tables.scan import Cells, Scan  # none of these is needed for compiled programs
        from emulator.v1model.interpreted import Interpreter
        from emulator.v1model.state import new_state

        assert program.program is not None
        self._ports = ports
        profiles = make_profiles(program)
        cells = {view.name: Cells() for view in program.view.tables}
        self.profiles = profiles
        self.tables = {
            view.name: Table(view, cells[view.name], profiles.get(view.profile or "")) for view in program.view.tables
        }
        self._groups: dict[int, Replicas] = {}
        self.state = new_state(program.program)
        self._interpreter = Interpreter(
            program.program,
            Scan(program.program, self.tables, cells, self.state),
            lambda group: self._groups.get(group, ()),
            self.state,
        )
        self.program_address = self.context_address = 0

    def process(self, batch: FrameBatch, now_ns: int) -> int:
        for egress_port, copy in self._interpreter.depart(now_ns):
            self._transmit(egress_port, copy)
        for port, frame in batch.frames():
            for egress_port, copy in self._interpreter.process(frame, port, now_ns):
                self._transmit(egress_port, copy)
        return self._interpreter.next_ns

    def set_queues(self, settings: QueueSettings, queued: CompiledProgram) -> None:
        self._interpreter.set_queues(settings)

    def _transmit(self, port: int, frame: bytes) -> None:
        exists = port < MAX_PORTS and int(self._ports.rings["cells"][port]) != 0
        if not exists:
            self.state.drops[Drop.NO_SUCH_PORT] += 1
            return
        ring = self._ports.rings[port]
        if ring["tail"] >= ring["limit"]:
            # asked before the frame's length, as the compiled program does, which knows it later
            ring["dropped_full"] += 1
            self.state.drops[Drop.RING_FULL] += 1
        elif not self._ports.append(port, frame):
            self.state.drops[Drop.TOO_LONG] += 1

    def read_register(self, name: str, index: int) -> int:
        return self.state.registers[name][index]

    def write_register(self, name: str, index: int, value: int) -> None:
        self.state.registers[name][index] = value

    def read_counter(self, name: str, index: int) -> CounterValue:
        return CounterValue(*self.state.counters[name][index])

    def write_counter(self, name: str, index: int, value: CounterValue) -> None:
        self.state.counters[name][index] = [value.packets, value.bytes]

    def set_meter(self, name: str, index: int, config: MeterConfig | None) -> None:
        from emulator.switch.tables.scan import configure

        configure(self.state.meters[name][index], config)

    def read_meter_counts(self, name: str, index: int) -> MeterCounts:
        from emulator.switch.tables.scan import counts_of

        return counts_of(self.state.meters[name][index])

    def write_meter_counts(self, name: str, index: int, counts: MeterCounts) -> None:
        from emulator.switch.tables.scan import set_counts

        set_counts(self.state.meters[name][index], counts)

    def set_multicast(self, group: int, replicas: Replicas) -> None:
        self._groups[group] = replicas

    def set_session(self, session: CloneSession) -> None:
        from emulator.v1model.state import Session

        if session.replicas:
            self.state.clone_sessions[session.session_id] = Session(session.replicas, session.packet_length_bytes)
        else:
            self.state.clone_sessions.pop(session.session_id, None)

    def set_value_set(self, name: str, members: tuple[KeyParts, ...]) -> None:
        self.state.value_sets[name] = members

    def has_digests(self, name: str) -> bool:
        return bool(self.state.digests[name])

    def take_digests(self, name: str, limit: int) -> list[tuple[int, ...]]:
        queue = self.state.digests[name]
        return [queue.popleft() for _ in range(min(limit, len(queue)))]

    def take_messages(self) -> list[str]:
        taken, self.state.log = self.state.log, []
        return [message.render(values) for message, values in taken]

    def has_messages(self) -> bool:
        return bool(self.state.log)

    def seed(self, value: int) -> None:
        self.state.random = Generator(value)

    def drops(self) -> dict[Drop, int]:
        return dict(self.state.drops)

    def faults(self) -> dict[Fault, int]:
        return dict(self.state.faults)
