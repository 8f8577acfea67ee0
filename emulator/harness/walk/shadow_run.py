"""Walks of a switch that runs compiled: the interpreter is shown each packet before the machine code gets it.

It looks up the same tables, and reads registers and meters where the machine code has them; what it writes is forgotten
with the packet. So only packets with recorded walks cost more; they may be a sample.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from emulator.harness.walk.events import Walk
from emulator.harness.walk.traced_switch import TracingInterpreter, tracing_scan
from emulator.harness.walk.tracing_machine import TracingMachine
from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.switch.control import CloneSession, CounterValue, MeterConfig, MeterCounts, Replicas
from emulator.switch.core import Switch
from emulator.switch.engines import CompiledEngine, Engine
from emulator.switch.memory import Memory, meter_of
from emulator.switch.profiles import Call
from emulator.switch.tables.flat_table import FlatTable
from emulator.switch.tables.mirror import Entry, Mirror
from emulator.switch.tables.scan import Cell, Cells
from emulator.v1model.compiled import CompiledProgram
from emulator.v1model.control_view import KeyParts, TableView
from emulator.v1model.egress_queues import QueueSettings
from emulator.v1model.meters import Meter
from emulator.v1model.queue_layout import HELD_PACKETS
from emulator.v1model.state import Session, State

log = logging.getLogger(__name__)


class Reader(Protocol):
    """Who gets the walks."""

    def wants(self) -> bool:
        """Asked before each packet."""
        ...

    def record(self, walk: Walk) -> None: ...


class WatchedSwitch(Switch):
    """Programs must have been compiled `WITH_SOURCE`."""

    def __init__(self, reader: Reader, *, ports: TxPortTable | None = None, seed: int = 0) -> None:
        super().__init__(ports=ports, seed=seed)
        self._reader = reader

    def _make_engine(self, program: CompiledProgram) -> Engine:
        return WatchedEngine(program, self.ports, self._reader)


class WatchedEngine(CompiledEngine):
    def __init__(self, program: CompiledProgram, ports: TxPortTable, reader: Reader) -> None:
        assert program.program is not None
        self._reader = reader
        self._cells: dict[str, _PeekedCells] = {}
        super().__init__(program, ports)
        self._groups: dict[int, Replicas] = {}
        self._state = _peeked_state(program, self.memory)
        scan = tracing_scan(program.program, self.tables, dict(self._cells), self._state)
        self._interpreter = TracingInterpreter(
            program.program, scan, lambda group: self._groups.get(group, ()), self._state, TracingMachine
        )
        self._interpreter.report = reader.record
        self._one = FrameBatch(1)
        self.set_multicast = self._set_multicast
        self.set_session = self._set_session

    def process(self, batch: FrameBatch, now_ns: int) -> int:
        """All frames of the batch, in order."""
        if batch.count == 0 or not self._reader.wants():
            return super().process(batch, now_ns)
        next_ns = -1
        for index, (port, frame) in enumerate(batch.frames()):
            if index == 0 or self._reader.wants():
                self._walk(frame, port, now_ns)
            one = self._one
            one.address[0], one.length_bytes[0], one.port[0] = (
                array[index] for array in (batch.address, batch.length_bytes, batch.port)
            )
            one.count = 1
            next_ns = super().process(one, now_ns)
        return next_ns

    def set_queues(self, settings: QueueSettings, queued: CompiledProgram) -> None:
        """A walk shows egress at once: the interpreter's queues drop what has no queue, and hold nothing up."""
        super().set_queues(settings, queued)
        at_once = QueueSettings(settings.priorities)
        at_once.depth[:] = HELD_PACKETS
        self._interpreter.set_queues(at_once)

    def _walk(self, frame: bytes, port: int, now_ns: int) -> None:
        for cells in self._cells.values():
            cells.forget()
        _forget(self._state, self.memory)
        try:
            for _ in self._interpreter.process(frame, port, now_ns):
                pass
        except Exception:  # a defect of ours must not stop packets
            log.exception("a packet's walk could not be recorded")

    # --- What the control plane says, once more for the interpreter -------------------------------------------------

    def _mirror(self, view: TableView, flat: FlatTable) -> Mirror:
        self._cells[view.name] = _PeekedCells(flat, view.has_meter)
        return _Both(flat, self._cells[view.name])

    def _set_multicast(self, group: int, replicas: Replicas) -> None:
        self.memory.set_multicast(group, replicas)
        self._groups[group] = replicas

    def _set_session(self, session: CloneSession) -> None:
        self.memory.set_session(session)
        self._state.clone_sessions[session.session_id] = Session(session.replicas, session.packet_length_bytes)

    def set_value_set(self, name: str, members: tuple[KeyParts, ...]) -> None:
        super().set_value_set(name, members)
        self._state.value_sets[name] = members


# --- Tables ---------------------------------------------------------------------------------------------------------


class _PeekedCells(Cells):
    """Counters of the entries that a packet has hit; meters are as they lie in memory."""

    def __init__(self, flat: FlatTable, has_meter: bool) -> None:
        super().__init__()
        self.cells = _Missing(lambda handle: Cell(meter=meter_of(flat.meter_cell(handle)) if has_meter else Meter()))

    def forget(self) -> None:
        self.cells.clear()


class _Missing(dict[int, Any]):
    """Makes what it is asked for."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: int) -> Any:
        self[key] = made = self._make(key)
        return made


class _Both(Mirror):
    """The machine code's mirror; the interpreter's gets what selectors lead to, and reads the entries itself."""

    def __init__(self, flat: FlatTable, cells: Cells) -> None:
        self._flat, self._cells = flat, cells

    def put(self, entry: Entry) -> None:
        self._flat.put(entry)

    def remove(self, entry: Entry) -> None:
        self._flat.remove(entry)

    def put_default(self, action: int, params: tuple[int, ...]) -> None:
        self._flat.put_default(action, params)

    def put_selection(self, number: int, calls: tuple[Call, ...]) -> None:
        self._flat.put_selection(number, calls)
        self._cells.put_selection(number, calls)

    def drop_selection(self, number: int) -> None:
        self._flat.drop_selection(number)
        self._cells.drop_selection(number)

    def counter(self, handle: int) -> CounterValue:
        return self._flat.counter(handle)

    def set_counter(self, handle: int, value: CounterValue) -> None:
        self._flat.set_counter(handle, value)

    def set_meter(self, handle: int, config: MeterConfig | None) -> None:
        self._flat.set_meter(handle, config)

    def meter_counts(self, handle: int) -> MeterCounts:
        return self._flat.meter_counts(handle)

    def set_meter_counts(self, handle: int, counts: MeterCounts) -> None:
        self._flat.set_meter_counts(handle, counts)

    def last_hit_ns(self, handle: int) -> int:
        return self._flat.last_hit_ns(handle)

    def set_last_hit_ns(self, handle: int, now_ns: int) -> None:
        self._flat.set_last_hit_ns(handle, now_ns)


# --- Registers, meters, counters --------------------------------------------------------------------------------------


class _Peeked(list[Any]):
    """Cells that are read when a packet first asks for them. ``size``: how many the program has."""

    def __init__(self, size: int, read: Callable[[int], Any]) -> None:
        super().__init__()
        self._size = size
        self._met = _Missing(read)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        return self._met[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._met[index] = value

    def forget(self) -> None:
        self._met.clear()


def _peeked_state(program: CompiledProgram, memory: Memory) -> State:
    def registers(name: str) -> Callable[[int], int]:
        return lambda index: memory.read_register(name, index)

    def meters(name: str) -> Callable[[int], Meter]:
        return lambda index: meter_of(memory.meter_cell(name, index))

    view = program.view
    return State(
        registers={v.name: _Peeked(v.size, registers(v.name)) for v in view.registers},
        counters={v.name: _Peeked(v.size, lambda _: [0, 0]) for v in view.counters},
        meters={v.name: _Peeked(v.size, meters(v.name)) for v in view.meters},
        digests={v.name: deque() for v in view.digests},
        value_sets={v.name: () for v in view.value_sets},
    )


def _forget(state: State, memory: Memory) -> None:
    """What the packet before has done."""
    for arrays in (state.registers, state.counters, state.meters):
        for cells in arrays.values():
            assert isinstance(cells, _Peeked)
            cells.forget()
    for queue in state.digests.values():
        queue.clear()
    state.log.clear()
    state.random.state = memory.random_state()
