"""MeterEntry and DirectMeterEntry (P4Runtime, "MeterEntry & DirectMeterEntry")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from emulator.p4runtime.entities.direct import fill_entry, find, key_of, put, select
from emulator.p4runtime.entities.indexed_arrays import check_modify, check_wildcard, indices_of, read_cells
from emulator.p4runtime.entities.resources import counts_from_proto, fill_counts, fill_meter, meter_from_proto
from emulator.p4runtime.pipeline.schema import MeterSchema
from emulator.p4runtime.view import Change, EntryKey, Undo, View
from emulator.rpc.p4protos import p4runtime_pb2
from emulator.switch.control import MeterConfig, MeterCounts

# --- Indirect meters --------------------------------------------------------------------------------------------


def prepare_meter_write(view: View, update_type: int, message: Any) -> Change:
    """A write without a config makes the meter green for everything."""
    meter = view.schema.meter(message.meter_id)
    check_modify(update_type, f"meter {meter.name}")
    config, counts = _config_of(message, f"meter {meter.name}")
    indices = indices_of(message, meter.size, f"meter {meter.name}")
    return Change(lambda: _write(view, meter, indices, config, counts), lambda: _remember(view, meter, indices))


def _config_of(message: Any, where: str) -> tuple[MeterConfig | None, MeterCounts | None]:
    """Configuration, and the counts to write, where there are any."""
    config = meter_from_proto(message.config, where) if message.HasField("config") else None
    return config, counts_from_proto(message.counter_data, where) if message.HasField("counter_data") else None


def _write(
    view: View, meter: MeterSchema, indices: range, config: MeterConfig | None, counts: MeterCounts | None
) -> None:
    for index in indices:
        view.control.write_meter(meter.id, index, config)
        if counts is not None:
            view.control.write_meter_counts(meter.id, index, counts)


def _remember(view: View, meter: MeterSchema, indices: range) -> Undo:
    old = [(index, *_read(view, meter.id, index)) for index in indices]

    def undo() -> None:
        for index, config, counts in old:
            view.control.write_meter(meter.id, index, config)
            view.control.write_meter_counts(meter.id, index, counts)

    return undo


def _read(view: View, meter_id: int, index: int) -> tuple[MeterConfig | None, MeterCounts]:
    return view.control.read_meter(meter_id, index), view.control.read_meter_counts(meter_id, index)


def read_meter(view: View, message: Any) -> Iterator[Any]:
    """One cell, all cells of a meter, or with id 0 all of all meters; unset configs are the default.
    Counts by colour come where the request has ``counter_data``."""
    check_wildcard(message.meter_id, message, "meter")
    meters = [view.schema.meter(message.meter_id)] if message.meter_id else view.schema.meters.values()
    for meter in meters:
        indices = indices_of(message, meter.size, f"meter {meter.name}")
        cells = read_cells(view, lambda meter_id, index: _read(view, meter_id, index), meter.id, indices)
        for index, (config, counts) in cells:
            entity = p4runtime_pb2.Entity()
            answer = entity.meter_entry
            answer.meter_id = meter.id
            answer.index.index = index
            if config is not None:
                answer.config.SetInParent()
                fill_meter(answer.config, config)
            if message.HasField("counter_data"):
                fill_counts(answer.counter_data, counts)
            yield entity


# --- Direct meters ----------------------------------------------------------------------------------------------


def prepare_direct_meter_write(view: View, update_type: int, message: Any) -> Change:
    table, key = key_of(view, message.table_entry, "direct meter")
    check_modify(update_type, f"table {table.name}, direct meter")
    config, counts = _config_of(message, f"table {table.name}")
    return Change(lambda: _write_direct(view, key, config, counts), lambda: _remember_direct(view, key))


def _write_direct(view: View, key: EntryKey, config: MeterConfig | None, counts: MeterCounts | None) -> None:
    put(view, key, replace(find(view, key), counter=None, meter=config, meter_counts=counts))


def _remember_direct(view: View, key: EntryKey) -> Undo:
    old = find(view, key)
    return lambda: _write_direct(view, key, old.meter, old.meter_counts)


def read_direct_meter(view: View, message: Any) -> Iterator[Any]:
    """One entry's meter, a table's, or with table id 0 those of all tables. An absent entry is NOT_FOUND."""
    for table, entry in select(view, message.table_entry, "direct meter"):
        entity = p4runtime_pb2.Entity()
        answer = entity.direct_meter_entry
        fill_entry(answer.table_entry, table, entry, message.table_entry)
        if entry.meter is not None:
            answer.config.SetInParent()
            fill_meter(answer.config, entry.meter)
        if message.HasField("counter_data") and entry.meter_counts is not None:
            fill_counts(answer.counter_data, entry.meter_counts)
        yield entity
