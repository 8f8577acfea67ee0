"""MeterEntry and DirectMeterEntry (P4Runtime, "MeterEntry & DirectMeterEntry")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from emulator.native.p4protos import p4runtime_pb2
from emulator.p4runtime.entities.direct import fill_entry, find, key_of, put, select
from emulator.p4runtime.entities.indexed_arrays import check_modify, check_wildcard, indices_of, read_cells
from emulator.p4runtime.entities.resources import fill_meter, meter_from_proto, refuse_meter_counters
from emulator.p4runtime.pipeline.schema import MeterSchema
from emulator.p4runtime.view import Change, EntryKey, Undo, View
from emulator.switch.control import MeterConfig

# --- Indirect meters --------------------------------------------------------------------------------------------


def prepare_meter_write(view: View, update_type: int, message: Any) -> Change:
    """A write without a config makes the meter green for everything."""
    meter = view.schema.meter(message.meter_id)
    check_modify(update_type, f"meter {meter.name}")
    config = _config_of(message, f"meter {meter.name}")
    indices = indices_of(message, meter.size, f"meter {meter.name}")
    return Change(lambda: _write(view, meter, indices, config), lambda: _remember(view, meter, indices))


def _config_of(message: Any, where: str) -> MeterConfig | None:
    refuse_meter_counters(message.HasField("counter_data"), where)
    return meter_from_proto(message.config, where) if message.HasField("config") else None


def _write(view: View, meter: MeterSchema, indices: range, config: MeterConfig | None) -> None:
    for index in indices:
        view.control.write_meter(meter.id, index, config)


def _remember(view: View, meter: MeterSchema, indices: range) -> Undo:
    old = [(index, view.control.read_meter(meter.id, index)) for index in indices]

    def undo() -> None:
        for index, config in old:
            view.control.write_meter(meter.id, index, config)

    return undo


def read_meter(view: View, message: Any) -> Iterator[Any]:
    """One cell, all cells of a meter, or with id 0 all of all meters; unset configs are the default."""
    refuse_meter_counters(message.HasField("counter_data"), "meters")
    check_wildcard(message.meter_id, message, "meter")
    meters = [view.schema.meter(message.meter_id)] if message.meter_id else view.schema.meters.values()
    for meter in meters:
        indices = indices_of(message, meter.size, f"meter {meter.name}")
        for index, config in read_cells(view, view.control.read_meter, meter.id, indices):
            entity = p4runtime_pb2.Entity()
            answer = entity.meter_entry
            answer.meter_id = meter.id
            answer.index.index = index
            if config is not None:
                answer.config.SetInParent()
                fill_meter(answer.config, config)
            yield entity


# --- Direct meters ----------------------------------------------------------------------------------------------


def prepare_direct_meter_write(view: View, update_type: int, message: Any) -> Change:
    table, key = key_of(view, message.table_entry, "direct meter")
    check_modify(update_type, f"table {table.name}, direct meter")
    config = _config_of(message, f"table {table.name}")
    return Change(lambda: _write_direct(view, key, config), lambda: _remember_direct(view, key))


def _write_direct(view: View, key: EntryKey, config: MeterConfig | None) -> None:
    put(view, key, replace(find(view, key), counter=None, meter=config))


def _remember_direct(view: View, key: EntryKey) -> Undo:
    old = find(view, key).meter
    return lambda: _write_direct(view, key, old)


def read_direct_meter(view: View, message: Any) -> Iterator[Any]:
    """One entry's meter, a table's, or with table id 0 those of all tables. An absent entry is NOT_FOUND."""
    refuse_meter_counters(message.HasField("counter_data"), "direct meters")
    for table, entry in select(view, message.table_entry, "direct meter"):
        entity = p4runtime_pb2.Entity()
        answer = entity.direct_meter_entry
        fill_entry(answer.table_entry, table, entry, message.table_entry)
        if entry.meter is not None:
            answer.config.SetInParent()
            fill_meter(answer.config, entry.meter)
        yield entity
