"""Counters, registers and meters: reading, writing and checking their cells, direct ones by an entry's handle."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from emulator.harness.stf import syntax as s
from emulator.harness.stf.entries import Entries
from emulator.harness.stf.errors import refuse
from emulator.harness.stf.names import Instance, Names, find
from emulator.harness.stf.steps import Change, Check, Show
from emulator.switch.control import Control, CounterValue, MeterConfig, Rate, TableEntry
from emulator.v1model.control_view import ArrayView

COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


Cell = TypeVar("Cell", bound=Instance | ArrayView)


@dataclass(frozen=True, slots=True)
class Cells:
    """Binds what a test says of state."""

    names: Names
    entries: Entries

    # --- Counters ---------------------------------------------------------------------------------------------------

    def read_counter(self, line: int, name: str, index: int) -> list[Show]:
        counter = self._indirect(line, self.names.counter(line, name))
        return [
            Show(line, lambda control: f"{counter.name}({index}): {_words(control.read_counter(counter.id, index))}")
        ]

    def write_counter(self, line: int, name: str, index: int, packets: int, size: int) -> list[Change]:
        counter = self._indirect(line, self.names.counter(line, name))
        value = CounterValue(packets, size)
        return [Change(line, lambda control: control.write_counter(counter.id, index, value))]

    def check_counter(self, command: s.CheckCounter) -> Check:
        counter = self.names.counter(command.line, command.counter)
        read: Callable[[Control], CounterValue | None]
        if isinstance(counter, Instance):
            entry = self._entry(command.line, counter, command.index)
            read = partial(_direct_counter, entry)
        else:
            index = _index(command.line, command.index)
            read = partial(_counter, counter.id, index)

        def look(control: Control) -> str | None:
            value = read(control) or CounterValue(0, 0)
            number = value.packets if command.unit is s.Unit.PACKETS else value.bytes
            if COMPARE[command.operator](number, command.value):
                return None
            expected = f"{command.unit.value} {command.operator} {command.value}"
            return f"counter {counter.name}({command.index}): expected {expected}, it has {_words(value)}"

        return Check(command.line, look)

    # --- Registers --------------------------------------------------------------------------------------------------

    def read_register(self, line: int, name: str, index: int) -> list[Show]:
        register = self.names.register(line, name)
        return [Show(line, lambda control: f"{register.name}({index}): {control.read_register(register.id, index):#x}")]

    def write_register(self, line: int, name: str, index: int, value: int) -> list[Change]:
        register = self.names.register(line, name)
        return [Change(line, lambda control: control.write_register(register.id, index, value))]

    def reset_register(self, line: int, name: str) -> list[Change]:
        register = self.names.register(line, name)

        def reset(control: Control) -> None:
            for index in range(register.size):
                control.write_register(register.id, index, 0)

        return [Change(line, reset)]

    def check_register(self, command: s.CheckRegister) -> Check:
        register = self.names.register(command.line, command.register)

        def look(control: Control) -> str | None:
            value = control.read_register(register.id, command.index)
            if COMPARE[command.operator](value, command.value):
                return None
            expected = f"{command.operator} {command.value:#x}"
            return f"register {register.name}({command.index}): expected {expected}, it has {value:#x}"

        return Check(command.line, look)

    # --- Meters -----------------------------------------------------------------------------------------------------

    def show_meter(self, line: int, name: str, index: str) -> list[Show]:
        read = self._meter_reader(line, name, index)
        return [Show(line, lambda control: f"{name}({index}): {_rates(read(control))}")]

    def set_meter(self, line: int, name: str, index: str, committed: s.Rate, peak: s.Rate) -> list[Change]:
        meter = self.names.meter(line, name)
        config = _config(line, committed, peak)
        if not meter.table_id:
            number = _index(line, index)
            return [Change(line, lambda control: control.write_meter(meter.id, number, config))]
        entry = self._entry(line, meter, index)
        return [
            Change(line, lambda control: control.modify_entry(meter.table_id, replace(entry(control), meter=config)))
        ]

    def set_meters(self, line: int, name: str, committed: s.Rate, peak: s.Rate) -> list[Change]:
        meter = self._indirect(line, self.names.meter(line, name))
        config = _config(line, committed, peak)

        def write_all(control: Control) -> None:
            for index in range(meter.size):
                control.write_meter(meter.id, index, config)

        return [Change(line, write_all)]

    def check_meter(self, command: s.CheckMeter) -> Check:
        read = self._meter_reader(command.line, command.meter, command.index)
        expected = None if command.rates is None else _config(command.line, *command.rates)

        def look(control: Control) -> str | None:
            found = read(control)
            if found == expected:
                return None
            return f"meter {command.meter}({command.index}): expected {_rates(expected)}, it has {_rates(found)}"

        return Check(command.line, look)

    def _meter_reader(self, line: int, name: str, index: str) -> Callable[[Control], MeterConfig | None]:
        meter = self.names.meter(line, name)
        if meter.table_id:
            entry = self._entry(line, meter, index)
            return lambda control: entry(control).meter
        number = _index(line, index)
        return lambda control: control.read_meter(meter.id, number)

    # --- Digests ----------------------------------------------------------------------------------------------------

    def check_digest(self, command: s.CheckDigest) -> Check:
        digest = find(command.line, "digest", command.digest, self.names.digests)

        def look(control: Control) -> str | None:
            samples = control.take_digests(digest.id, 1)
            found = samples[0] if samples else None
            if found == command.values:
                return None
            return f"digest {digest.name}: expected {_sample(command.values)}, the oldest sample is {_sample(found)}"

        return Check(command.line, look)

    # --- Cells of entries -------------------------------------------------------------------------------------------

    def _entry(self, line: int, resource: Instance, handle: str) -> Callable[[Control], TableEntry]:
        """Finds the entry as the switch has it now."""
        table, entry = self.entries.by_handle.get(handle, (None, None))
        if table is None or entry is None or table.id != resource.table_id:
            raise refuse(
                line, f"{resource.name} is direct: it has a cell for each entry, so name one by its handle ('= HANDLE')"
            )

        def find(control: Control) -> TableEntry:
            key = entry.match, entry.priority
            return next(e for e in control.entries(table.id) if (e.match, e.priority) == key)

        return find

    def _indirect(self, line: int, cell: Cell) -> Cell:
        if isinstance(cell, Instance) and cell.table_id:
            raise refuse(line, f"{cell.name} is direct: its cells belong to the entries of a table")
        return cell


def _direct_counter(entry: Callable[[Control], TableEntry], control: Control) -> CounterValue | None:
    return entry(control).counter


def _counter(counter_id: int, index: int, control: Control) -> CounterValue:
    return control.read_counter(counter_id, index)


def _index(line: int, text: str) -> int:
    if not text.isdecimal():
        raise refuse(line, f"an index is a number, not {text!r}: only direct resources go by an entry's handle")
    return int(text)


def _sample(values: tuple[int, ...] | None) -> str:
    return "none" if values is None else " ".join(f"{value:#x}" for value in values)


def _words(value: CounterValue) -> str:
    return f"{value.packets} packets, {value.bytes} bytes"


def _rates(config: MeterConfig | None) -> str:
    if config is None:
        return "no rates"
    return " ".join(f"{rate.per_us:g}:{rate.burst}" for rate in (config.committed, config.peak))


def _config(line: int, committed: s.Rate, peak: s.Rate) -> MeterConfig:
    config = MeterConfig(Rate(float(committed[0]), committed[1]), Rate(float(peak[0]), peak[1]))
    if config.peak.per_us < config.committed.per_us:
        raise refuse(line, f"the peak rate {peak[0]} is below the committed rate {committed[0]}")
    return config
