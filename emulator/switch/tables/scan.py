"""The interpreter's tables: a naive search over the entries as they are, and what a hit does to packet and state."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.p4 import ir
from emulator.p4.interpreter.interpreter import Machine
from emulator.switch.control import CounterValue, MeterConfig, MeterCounts
from emulator.switch.profiles import Call
from emulator.switch.tables.match_keys import in_member
from emulator.switch.tables.mirror import DEFAULT_HANDLE, Entry
from emulator.switch.tables.tables import Table
from emulator.v1model.interpreted_externs import hash_input
from emulator.v1model.meters import Meter
from emulator.v1model.state import State
from emulator.v1model.table_resources import colour_targets, direct_meter_of, meters_bytes, selector_keys


@dataclass(slots=True)
class Cell:
    """What packets change of an entry."""

    packets: int = 0
    bytes: int = 0
    meter: Meter = field(default_factory=Meter)
    last_hit_ns: int = 0


class Cells:
    """The mirror of an interpreted table; see ``mirror.Mirror``."""

    def __init__(self) -> None:
        self.cells: dict[int, Cell] = {DEFAULT_HANDLE: Cell()}
        self.selections: dict[int, tuple[Call, ...]] = {0: ()}

    def put(self, entry: Entry) -> None:
        self.cells.setdefault(entry.handle, Cell())

    def remove(self, entry: Entry) -> None:
        del self.cells[entry.handle]

    def put_default(self, action: int, params: tuple[int, ...]) -> None:
        """The table itself knows."""

    def put_selection(self, number: int, calls: tuple[Call, ...]) -> None:
        self.selections[number] = calls

    def drop_selection(self, number: int) -> None:
        del self.selections[number]

    def counter(self, handle: int) -> CounterValue:
        return CounterValue(self.cells[handle].packets, self.cells[handle].bytes)

    def set_counter(self, handle: int, value: CounterValue) -> None:
        self.cells[handle].packets, self.cells[handle].bytes = value.packets, value.bytes

    def set_meter(self, handle: int, config: MeterConfig | None) -> None:
        configure(self.cells[handle].meter, config)

    def meter_counts(self, handle: int) -> MeterCounts:
        return counts_of(self.cells[handle].meter)

    def set_meter_counts(self, handle: int, counts: MeterCounts) -> None:
        set_counts(self.cells[handle].meter, counts)

    def last_hit_ns(self, handle: int) -> int:
        return self.cells[handle].last_hit_ns

    def set_last_hit_ns(self, handle: int, now_ns: int) -> None:
        self.cells[handle].last_hit_ns = now_ns


def counts_of(meter: Meter) -> MeterCounts:
    green, yellow, red = (CounterValue(*count) for count in meter.counts)
    return green, yellow, red


def set_counts(meter: Meter, counts: MeterCounts) -> None:
    meter.counts = [[count.packets, count.bytes] for count in counts]


def configure(meter: Meter, config: MeterConfig | None) -> None:
    """None: it says green from now on."""
    if config is None:
        meter.clear()
    else:
        meter.configure((config.committed.per_us, config.committed.burst), (config.peak.per_us, config.peak.burst))


class Scan:
    """See ``emulator.p4.interpreter.interpreter.Tables``."""

    def __init__(self, program: ir.Program, tables: dict[str, Table], cells: dict[str, Cells], state: State) -> None:
        self.tables = tables
        self._cells = cells
        self._state = state
        self._kinds = {v.name: tuple(f.match_kind for f in v.fields) for v in program.value_sets}
        self._colour_targets = colour_targets(program)

    def look_up(
        self, table: ir.Table, key: tuple[int, ...], machine: Machine
    ) -> tuple[bool, int | None, tuple[int, ...]]:
        placed = self.tables[table.name]
        values = tuple(v for v, k in zip(key, table.keys, strict=True) if k.match_kind != "selector")
        found = best_match(placed, values)
        if found is None:
            self._miss(table, self._cells[table.name].cells[DEFAULT_HANDLE], machine)
            return (False, None, ()) if placed.profile is not None else (False, *placed.default)
        cells = self._cells[table.name]
        self._hit(table, cells.cells[found.handle], machine)
        if placed.profile is None:
            return True, found.action, found.params
        calls = cells.selections[found.selection]
        if not calls:
            return True, None, ()
        return True, *calls[self._choice(placed, table, machine, len(calls))]

    def in_value_set(self, value_set: str, key: tuple[int, ...]) -> bool:
        kinds = self._kinds[value_set]
        return any(in_member(keys, kinds, key) for keys in self._state.value_sets[value_set])

    def _hit(self, table: ir.Table, cell: Cell, machine: Machine) -> None:
        """bmv2 counts and meters at every hit, before the action."""
        cell.packets += 1
        cell.bytes += len(machine.frame)
        cell.last_hit_ns = machine.notes["now_ns"]
        self._execute(table, cell, machine)

    def _miss(self, table: ir.Table, cell: Cell, machine: Machine) -> None:
        """See ``v1model.llvm.hits.miss``."""
        cell.packets += 1
        cell.bytes += len(machine.frame)
        if cell.meter.peak is not None:
            self._execute(table, cell, machine)

    def _execute(self, table: ir.Table, cell: Cell, machine: Machine) -> None:
        meter = direct_meter_of(table)
        if meter is not None:
            length = len(machine.frame)
            colour = cell.meter.execute(length if meters_bytes(meter) else 1, length, machine.notes["now_ns"])
            for target in self._colour_targets.get(meter.name, ()):
                machine.assign(target, colour)

    def _choice(self, placed: Table, table: ir.Table, machine: Machine, count: int) -> int:
        """bmv2 takes the hash's low 32 bits; the output width of the selector counts for nothing."""
        assert placed.profile is not None
        algorithm = placed.profile.view.algorithm
        if count == 1 or algorithm is None:
            return 0
        content = hash_input(machine, selector_keys(table), only_valid=True)
        return (self._state.hashed(algorithm, content) & 0xFFFF_FFFF) % count


def best_match(table: Table, values: tuple[int, ...]) -> Entry | None:
    """The matching entry with the highest priority (or longest prefix), then the smallest handle."""
    if not table.view.keys:
        return None
    found: Entry | None = None
    for entry in table.entries.values():
        if table.keys.matches(entry.keys, values) and (found is None or entry.rank > found.rank):
            found = entry
    return found
