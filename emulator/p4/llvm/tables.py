"""Applying a table: keys, look-up, the entry's action or its group's, the action's code."""

from __future__ import annotations

from typing import Any

from emulator.p4 import ir
from emulator.p4.layout import WORD_BYTES, cell_bytes, width_of
from emulator.p4.llvm import arithmetic, expressions, lookup, sharing
from emulator.p4.llvm.bits import I32, I64, PTR, Value, at, constant, i64, integer, load, resize
from emulator.p4.llvm.context import CodeGen
from emulator.p4.table_layout import (
    ENTRY_ACTION,
    MEMBERS_COUNT,
    MEMBERS_RECORDS,
    NOTHING_RUN,
    TABLE_ENTRIES,
    TABLE_WORDS,
    TableLayout,
)


def apply_table(cg: CodeGen, statement: ir.ApplyTable) -> None:
    b, layout = cg.b, cg.tables[statement.table]
    table = cg.program.table(statement.table)
    record = at(b, cg.table_area, layout.number * TABLE_WORDS * WORD_BYTES)
    keys = [_key_value(cg, k.value) for k in table.keys if k.match_kind != "selector"]
    number = lookup.emit_lookup(b, layout, record, keys, cg.ahead.get(statement.table)) if keys else i64(0)
    entries = load(b, PTR, record, TABLE_ENTRIES * WORD_BYTES, align=8)
    entry = at(b, entries, b.mul(number, i64(layout.entry_bytes)))
    hit = b.icmp_unsigned("!=", number, i64(0))
    _count(cg, table, layout, entry, hit if keys else None)
    entry, action = _chosen(cg, table, layout, entry)
    if statement.hit is not None:
        expressions.assign(cg, statement.hit, hit)
    if statement.action_run is not None:
        expressions.assign(cg, statement.action_run, resize(b, action, width_of(statement.action_run.type)))
    _run_action(cg, layout, action, entry)


def _count(cg: CodeGen, table: ir.Table, layout: TableLayout, entry: Value, hit: Value | None) -> None:
    """``hit``: None where there is none."""
    sees_misses = layout.counter is not None or layout.attached is not None
    if hit is None:
        if sees_misses:
            cg.hooks.on_miss(cg, table, entry)
    elif sees_misses:
        with cg.b.if_else(hit) as (then, otherwise):
            with then:
                cg.hooks.on_hit(cg, table, entry)
            with otherwise:
                cg.hooks.on_miss(cg, table, entry)
    else:
        with cg.b.if_then(hit):
            cg.hooks.on_hit(cg, table, entry)


def _key_value(cg: CodeGen, expr: ir.Expr) -> Value:
    """As ``value``, but a field of an invalid header counts as zero (bmv2's tables do that)."""
    value = expressions.value(cg, expr)
    if isinstance(expr, ir.FieldRef):
        assert isinstance(expr.header, ir.Header)
        value = cg.b.select(cg.storage.valid(cg.b, expr.header), value, arithmetic.like(value, 0))
    return value


def _chosen(cg: CodeGen, table: ir.Table, layout: TableLayout, entry: Value) -> tuple[Value, Value]:
    """(record that holds the action's parameters, number of the action)."""
    b = cg.b
    if layout.members is None:
        return entry, load(b, I32, entry, ENTRY_ACTION, align=4)
    members = load(b, I64, entry, layout.members, align=8)
    own, listed, some, several, chosen, end = (
        cg.new_block(n) for n in ("own", "members", "some", "several", "member", "chosen")
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
    hashed = cg.hooks.select_member(cg, table)
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


def _run_action(cg: CodeGen, layout: TableLayout, number: Value, entry: Value) -> None:
    other, end = cg.new_block("no_action"), cg.new_block("end")
    node = cg.b.switch(number, other)
    before, after = set(cg.storage.owned), set(cg.storage.owned)
    for index, shape in enumerate(layout.actions):
        start = cg.new_block(f"action.{shape.name}")
        node.add_case(constant(index, 32), start)
        cg.b.position_at_end(start)
        cg.storage.owned = set(before)
        action = _action(cg, shape.name)
        for parameter, cell in zip(action.parameters, shape.parameters, strict=True):
            stored = load(cg.b, integer(cell_bytes(cell.width_bits) * 8), entry, cell.offset_bytes)
            expressions.assign(cg, parameter, resize(cg.b, stored, cell.width_bits))
        if shape.name in cg.shared_names:
            sharing.run(cg, action)
        else:
            cg.region(action.body)
        if not cg.b.block.is_terminated:
            cg.b.branch(end)
            after &= cg.storage.owned
    cg.b.position_at_end(other)
    cg.b.branch(end)
    cg.join(end, after)


def _action(cg: CodeGen, name: str) -> Any:
    if not cg.actions:
        cg.actions.update((a.name, a) for a in cg.program.actions)
    return cg.actions[name]
