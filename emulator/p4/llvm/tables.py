"""Applying a table: keys, look-up, the entry's action or its group's, the action's code."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.p4.layout import WORD_BYTES, cell_bytes, width_of
from emulator.p4.llvm import arithmetic, expressions, lookup, sharing
from emulator.p4.llvm.bits import I32, I64, PTR, Value, at, constant, i64, integer, load, resize
from emulator.p4.llvm.context import Emitter
from emulator.p4.table_layout import (
    ENTRY_ACTION,
    MEMBERS_COUNT,
    MEMBERS_RECORDS,
    NOTHING_RUN,
    TABLE_ENTRIES,
    TABLE_WORDS,
    TableLayout,
)


def apply_table(e: Emitter, statement: ir.ApplyTable) -> None:
    b, layout = e.b, e.tables[statement.table]
    table = e.program.table(statement.table)
    record = at(b, e.table_area, layout.number * TABLE_WORDS * WORD_BYTES)
    keys = [_key_value(e, k.value) for k in table.keys if k.match_kind != "selector"]
    number = lookup.emit_lookup(b, layout, record, keys, e.ahead.get(statement.table)) if keys else i64(0)
    entries = load(b, PTR, record, TABLE_ENTRIES * WORD_BYTES, align=8)
    entry = at(b, entries, b.mul(number, i64(layout.entry_bytes)))
    hit = b.icmp_unsigned("!=", number, i64(0))
    _count(e, table, layout, entry, hit if keys else None)
    entry, action = _chosen(e, table, layout, entry)
    if statement.hit is not None:
        expressions.assign(e, statement.hit, hit)
    if statement.action_run is not None:
        expressions.assign(e, statement.action_run, resize(b, action, width_of(statement.action_run.type)))
    _run_action(e, layout, action, entry)


def _count(e: Emitter, table: ir.Table, layout: TableLayout, entry: Value, hit: Value | None) -> None:
    """``hit``: None where there is none."""
    sees_misses = layout.counter is not None or layout.attached is not None
    if hit is None:
        if sees_misses:
            e.hooks.on_miss(e, table, entry)
    elif sees_misses:
        with e.b.if_else(hit) as (then, otherwise):
            with then:
                e.hooks.on_hit(e, table, entry)
            with otherwise:
                e.hooks.on_miss(e, table, entry)
    else:
        with e.b.if_then(hit):
            e.hooks.on_hit(e, table, entry)


def _key_value(e: Emitter, expr: ir.Expr) -> Value:
    """As ``value``, but a field of an invalid header counts as zero (bmv2's tables do that)."""
    value = expressions.value(e, expr)
    if isinstance(expr, ir.FieldRef):
        assert isinstance(expr.header, ir.Header)
        value = e.b.select(e.storage.valid(e.b, expr.header), value, arithmetic.like(value, 0))
    return value


def _chosen(e: Emitter, table: ir.Table, layout: TableLayout, entry: Value) -> tuple[Value, Value]:
    """(record that holds the action's parameters, number of the action)."""
    b = e.b
    if layout.members is None:
        return entry, load(b, I32, entry, ENTRY_ACTION, align=4)
    members = load(b, I64, entry, layout.members, align=8)
    own, listed, some, several, chosen, end = (
        e.new_block(n) for n in ("own", "members", "some", "several", "member", "chosen")
    )
    b.cbranch(b.icmp_unsigned("==", members, i64(0)), own, listed)
    b.position_at_end(own)
    own_action = load(b, I32, entry, ENTRY_ACTION, align=4)
    b.branch(end)
    b.position_at_end(listed)
    members = b.inttoptr(members, PTR)
    count = load(b, I64, members, MEMBERS_COUNT, align=8)
    b.cbranch(b.icmp_unsigned("==", count, i64(0)), end, some)
    b.position_at_end(some)
    b.cbranch(b.icmp_unsigned("==", count, i64(1)), chosen, several)
    b.position_at_end(several)
    hashed = e.hooks.select_member(e, table)
    index = b.urem(resize(b, hashed, 64), count)
    several_end = b.block
    b.branch(chosen)
    b.position_at_end(chosen)
    position = b.phi(I64)
    position.add_incoming(i64(0), some)
    position.add_incoming(index, several_end)
    records = load(b, PTR, members, MEMBERS_RECORDS, align=8)
    member = at(b, records, b.mul(position, i64(layout.entry_bytes)))
    action = load(b, I32, member, ENTRY_ACTION, align=4)
    b.branch(end)
    b.position_at_end(end)
    record, number = b.phi(PTR), b.phi(I32)
    for block, place, value in (
        (own, entry, own_action),
        (listed, entry, constant(NOTHING_RUN, 32)),
        (chosen, member, action),
    ):
        record.add_incoming(place, block)
        number.add_incoming(value, block)
    return record, number


def _run_action(e: Emitter, layout: TableLayout, number: Value, entry: Value) -> None:
    other, end = e.new_block("no_action"), e.new_block("end")
    node = e.b.switch(number, other)
    before, after = set(e.storage.owned), set(e.storage.owned)
    for index, shape in enumerate(layout.actions):
        start = e.new_block(f"action.{shape.name}")
        node.add_case(constant(index, 32), start)
        e.b.position_at_end(start)
        e.storage.owned = set(before)
        action = _action(e, shape.name)
        for parameter, cell in zip(action.parameters, shape.parameters, strict=True):
            stored = load(e.b, integer(cell_bytes(cell.width_bits) * 8), entry, cell.offset_bytes)
            expressions.assign(e, parameter, resize(e.b, stored, cell.width_bits))
        if shape.name in e.shared_names:
            sharing.run(e, action)
        else:
            e.region(action.body)
        if not e.b.block.is_terminated:
            e.b.branch(end)
            after &= e.storage.owned
    e.b.position_at_end(other)
    e.b.branch(end)
    e.join(end, after)


def _action(e: Emitter, name: str) -> Any:
    if not e.actions:
        e.actions.update((a.name, a) for a in e.program.actions)
    return e.actions[name]
