"""What v1model adds to a table's look-up: counting and metering at a hit, and the choice of a group's member."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.layout import width_of
from emulator.p4.llvm import expressions
from emulator.p4.llvm.bits import I64, Value, at, constant, i64, load, resize, store
from emulator.p4.llvm.context import CodeGen
from emulator.v1model.llvm.checksums import emit_checksum
from emulator.v1model.llvm.meters import emit_meter
from emulator.v1model.llvm.registers import FRAME_LENGTH, NOW
from emulator.v1model.make_control_view import algorithm_of, profile_of
from emulator.v1model.meters import METER_CONFIGURED
from emulator.v1model.table_resources import colour_targets, direct_meter_of, meters_bytes, selector_keys


def hit(cg: CodeGen, table: ir.Table, entry: Value) -> None:
    """bmv2 counts and meters at every hit, before the action."""
    layout, owned = cg.tables[table.name], set(cg.storage.owned)
    _count(cg, table, entry)
    if layout.last_hit is not None:
        store(cg.b, NOW.get(cg), entry, layout.last_hit, align=8)
    _meter(cg, table, entry)
    cg.storage.owned &= owned


def miss(cg: CodeGen, table: ir.Table, entry: Value) -> None:
    """The default entry is an entry like others (P4Runtime, "Default Entry"), without a visible difference from bmv2,
    where it has neither: its count is read only there, and its meter gives no colour until it is configured."""
    layout, owned = cg.tables[table.name], set(cg.storage.owned)
    _count(cg, table, entry)
    if layout.attached is not None:
        is_configured = load(cg.b, I64, at(cg.b, entry, layout.attached), METER_CONFIGURED, align=8)
        with cg.b.if_then(cg.b.icmp_unsigned("!=", is_configured, i64(0))):
            _meter(cg, table, entry)
    cg.storage.owned &= owned


def _count(cg: CodeGen, table: ir.Table, entry: Value) -> None:
    counter = cg.tables[table.name].counter
    if counter is not None:
        cg.add_to(at(cg.b, entry, counter), 1)
        cg.add_to(at(cg.b, entry, counter + 8), FRAME_LENGTH.get(cg))


def _meter(cg: CodeGen, table: ir.Table, entry: Value) -> None:
    meter, layout = direct_meter_of(table), cg.tables[table.name]
    if meter is None:
        return
    assert layout.attached is not None
    length = FRAME_LENGTH.get(cg)
    amount = length if meters_bytes(meter) else i64(1)
    colour = emit_meter(cg.b, at(cg.b, entry, layout.attached), amount, length, NOW.get(cg))
    for target in colour_targets(cg.program).get(meter.name, ()):
        expressions.assign(cg, target, resize(cg.b, colour, width_of(target.type)))


def select_member(cg: CodeGen, table: ir.Table) -> Value:
    """The hash of the selector keys, its low 32 bits (bmv2; the selector's output width has no effect)."""
    selector = profile_of(table)
    assert selector is not None
    if selector.extern != "action_selector":
        return constant(0, 32)  # an action profile has no groups
    algorithm = ir.Constant(algorithm_of(selector).value, ir.INDEX)
    return resize(cg.b, emit_checksum(cg, algorithm, selector_keys(table), only_valid=True), 32)
