"""Commands on registers, counters and meters; direct ones by the handle of their entry. Rates are in packets or bytes
per microsecond."""

from __future__ import annotations

from dataclasses import replace

from emulator.p4runtime.commands.state import CommandError, State, find, number, value
from emulator.p4runtime.pipeline.schema import CounterSchema, MeterSchema, RegisterSchema, TableSchema
from emulator.switch.control import CounterValue, MeterConfig, Rate, TableEntry


def _table_of(state: State, direct_id: int) -> TableSchema | None:
    """The table of a direct counter or meter."""
    for table in state.view.schema.tables.values():
        if direct_id in (table.direct_counter_id, table.direct_meter_id):
            return table
    return None


# --- Registers ------------------------------------------------------------------------------------------------------


def _register(state: State, name: str) -> RegisterSchema:
    return find("register", name, state.view.schema.registers.values())


def register_read(state: State, words: list[str]) -> list[str]:
    register, control = _register(state, words[0]), state.view.control
    if len(words) == 1:
        cells = (control.read_register(register.id, index) for index in range(register.size))
        return [f"{words[0]}= {', '.join(str(cell) for cell in state.view.in_steps(cells))}"]
    index = number(words[1], "index")
    with state.view.access():
        return [f"{words[0]}[{index}]= {control.read_register(register.id, index)}"]


def register_write(state: State, words: list[str]) -> list[str]:
    register = _register(state, words[0])
    spec = register.type_spec.bitstring
    width = spec.bit.bitwidth or spec.int.bitwidth or 64
    written = value(words[2], width, f"value of {words[0]}")
    with state.view.access():
        state.view.control.write_register(register.id, number(words[1], "index"), written)
    return []


def register_reset(state: State, words: list[str]) -> list[str]:
    register = _register(state, words[0])
    state.for_each(register.size, lambda index: state.view.control.write_register(register.id, index, 0))
    return []


# --- Counters -------------------------------------------------------------------------------------------------------


def _counter(state: State, name: str) -> tuple[CounterSchema, TableSchema | None]:
    schema = state.view.schema
    counter = find("counter", name, [*schema.counters.values(), *schema.direct_counters.values()])
    return counter, _table_of(state, counter.id) if counter.id in schema.direct_counters else None


def counter_read(state: State, words: list[str]) -> list[str]:
    counter, table = _counter(state, words[0])
    index, lines = number(words[1], "index"), []
    if table is not None:
        lines.append(f"this is the direct counter for table {table.name}")
        read = state.entry(table, words[1]).counter or CounterValue(0, 0)
    else:
        with state.view.access():
            read = state.view.control.read_counter(counter.id, index)
    return [*lines, f"{words[0]}[{index}]=  BmCounterValue(packets={read.packets}, bytes={read.bytes})"]


def counter_write(state: State, words: list[str]) -> list[str]:
    written = CounterValue(number(words[2], "packets"), number(words[3], "bytes"))
    counter, table = _counter(state, words[0])
    if table is not None:
        _change_entry(state, table, state.entry(table, words[1]), counter=written)
        return []
    with state.view.access():
        state.view.control.write_counter(counter.id, number(words[1], "index"), written)
    return []


def counter_reset(state: State, words: list[str]) -> list[str]:
    counter, table = _counter(state, words[0])
    if table is not None:
        for _, entry in state.entries(table):
            _change_entry(state, table, entry, counter=CounterValue(0, 0))
        return []
    zero = CounterValue(0, 0)
    state.for_each(counter.size, lambda index: state.view.control.write_counter(counter.id, index, zero))
    return []


def _change_entry(
    state: State, table: TableSchema, entry: TableEntry, *, counter: CounterValue | None = None,
    meter: MeterConfig | None = None,
) -> None:  # fmt: skip
    changed = replace(entry, counter=counter, meter=meter or entry.meter, meter_counts=None)
    with state.view.access():
        state.view.control.modify_entry(table.id, changed)


# --- Meters ---------------------------------------------------------------------------------------------------------


def _meter(state: State, name: str) -> tuple[MeterSchema, TableSchema | None]:
    schema = state.view.schema
    meter = find("meter", name, [*schema.meters.values(), *schema.direct_meters.values()])
    return meter, _table_of(state, meter.id) if meter.id in schema.direct_meters else None


def _rates(words: list[str]) -> MeterConfig:
    if len(words) != 2:
        raise CommandError("Error: Write two rates, RATE:BURST RATE:BURST, the committed one first")
    rates = []
    for word in words:
        rate, _, burst = word.partition(":")
        try:
            rates.append(Rate(float(rate), int(burst, 0)))
        except ValueError:
            raise CommandError(f"Error: Error while parsing rates: {word} is not RATE:BURST") from None
    if rates[1].per_us < rates[0].per_us:
        raise CommandError("Error: The peak rate is below the committed rate")
    return MeterConfig(*rates)


def meter_array_set_rates(state: State, words: list[str]) -> list[str]:
    meter, table = _meter(state, words[0])
    config = _rates(words[1:])
    if table is not None:
        raise CommandError(f"Error: {meter.name} is a direct meter: meter_set_rates sets it by an entry's handle")
    state.for_each(meter.size, lambda index: state.view.control.write_meter(meter.id, index, config))
    return []


def meter_set_rates(state: State, words: list[str]) -> list[str]:
    meter, table = _meter(state, words[0])
    config = _rates(words[2:])
    if table is not None:
        _change_entry(state, table, state.entry(table, words[1]), meter=config)
        return []
    with state.view.access():
        state.view.control.write_meter(meter.id, number(words[1], "index"), config)
    return []


def meter_get_rates(state: State, words: list[str]) -> list[str]:
    meter, table = _meter(state, words[0])
    if table is not None:
        config = state.entry(table, words[1]).meter
    else:
        with state.view.access():
            config = state.view.control.read_meter(meter.id, number(words[1], "index"))
    rates = () if config is None else (config.committed, config.peak)
    return [f"{n}: info rate = {rate.per_us}, burst size = {rate.burst}" for n, rate in enumerate(rates)]
