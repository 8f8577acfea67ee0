"""Digests and log messages as LLVM code: records in flat memory that the control side reads between batches."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from emulator.p4 import ir
from emulator.p4.layout import Cell, cell_bytes, width_of
from emulator.p4.llvm import expressions
from emulator.p4.llvm.arithmetic import shift
from emulator.p4.llvm.bits import I64, Value, at, constant, i64, integer, load, resize, store
from emulator.p4.llvm.context import CodeGen
from emulator.v1model.layout import (
    DIGEST_HEADER_BYTES,
    DIGEST_SAMPLES,
    DIGEST_TAKEN,
    DIGEST_WRITTEN,
    DigestLayout,
    PipelineLayout,
    Word,
)
from emulator.v1model.llvm.counting import count_drop, count_fault, discard
from emulator.v1model.llvm.registers import DIGEST
from emulator.v1model.messages import LOG_CAPACITY, LOG_COUNT, LOG_HEADER_BYTES, format_of, record_bytes, values_of
from emulator.v1model.metadata import Drop, Fault


def _store_cell(cg: CodeGen, record: Value, cell: Cell, value: Value) -> None:
    wide = resize(cg.b, value, cell_bytes(cell.width_bits) * 8)
    store(cg.b, wide, record, cell.offset_bytes, align=min(cell.size_bytes, 8))


# --- Digests ------------------------------------------------------------------------------------------------------


def _field(cg: CodeGen, layout: DigestLayout, index: int) -> tuple[Value, Any]:
    """The slot that a field waits in until ingress ends, and its type."""
    kind = integer(layout.cells[index].width_bits)
    return cg.storage.slot(f"$digest.{layout.name}.{index}", kind), kind


def digest(cg: CodeGen, call: ir.CallExtern) -> None:
    """The fields as they are now; they leave at the end of ingress, and only the last call's do (bmv2)."""
    name, _, data = call.arguments
    assert isinstance(name, ir.Text)
    assert isinstance(data, tuple)
    layouts = _layout(cg).digests
    number = next(i for i, d in enumerate(layouts) if d.name == name.text)
    for index, expr in enumerate(data):
        cg.b.store(_value(cg, expr), _field(cg, layouts[number], index)[0])
    DIGEST.put(cg, 1 + number)


def _value(cg: CodeGen, expr: ir.Expr) -> Value:
    """Value of an expression; of a field of variable width the number that its bits make, first in its full width."""
    value = expressions.value(cg, expr)
    if isinstance(expr.type, ir.VarBits):
        unused = cg.b.sub(i64(expr.type.max_width_bits), expressions.varbit_content(cg, expr)[1])
        value = shift(cg.b, ir.BinaryOp.SHR, value, unused, signed=False)
    return value


def _layout(cg: CodeGen) -> PipelineLayout:
    result: PipelineLayout = cg.notes["layout"]
    return result


def send_digest(cg: CodeGen) -> None:
    """At the end of ingress: what digest() left goes into its queue."""
    b, layouts = cg.b, _layout(cg).digests
    if not layouts:
        return
    end = cg.new_block("digested")
    node = b.switch(DIGEST.get(cg), end)
    for number, layout in enumerate(layouts):
        start = cg.new_block("digest")
        node.add_case(constant(1 + number, 32), start)
        b.position_at_end(start)
        _send(cg, layout)
        b.branch(end)
    b.position_at_end(end)
    DIGEST.put(cg, 0)


def _send(cg: CodeGen, layout: DigestLayout) -> None:
    b, queue = cg.b, cg.context_word(layout.word)
    written = load(b, I64, queue, DIGEST_WRITTEN, align=8)
    waiting = b.sub(written, load(b, I64, queue, DIGEST_TAKEN, align=8))
    with b.if_else(b.icmp_unsigned("<", waiting, i64(DIGEST_SAMPLES))) as (room, full):
        with room:
            place = b.mul(b.urem(written, i64(DIGEST_SAMPLES)), i64(layout.sample_bytes))
            record = at(b, queue, b.add(place, i64(DIGEST_HEADER_BYTES)))
            for index, cell in enumerate(layout.cells):
                slot, kind = _field(cg, layout, index)
                _store_cell(cg, record, cell, b.load(slot, typ=kind))
            store(b, b.add(written, i64(1)), queue, DIGEST_WRITTEN, align=8)
        with full:
            count_drop(cg, Drop.DIGEST_FULL)


# --- Messages -----------------------------------------------------------------------------------------------------


def log_message(cg: CodeGen, call: ir.CallExtern) -> None:
    b, formats, message = cg.b, _layout(cg).messages, format_of(call)
    if not message.is_sound:
        _discard_always(cg, Drop.LOG_FORMAT)
        return
    values = [(expressions.value(cg, v), width_of(v.type)) for v in values_of(call)]
    log = cg.context_word(Word.LOG)
    count = load(b, I64, log, LOG_COUNT, align=8)
    with b.if_else(b.icmp_unsigned("<", count, i64(LOG_CAPACITY))) as (room, full):
        with room:
            place = b.add(b.mul(count, i64(record_bytes(formats))), i64(LOG_HEADER_BYTES))
            record = at(b, log, place)
            store(b, i64(formats.index(message)), record, 0, align=8)
            for cell, (value, _) in zip(message.cells, values, strict=True):
                _store_cell(cg, record, cell, value)
            store(b, b.add(count, i64(1)), log, LOG_COUNT, align=8)
        with full:
            count_fault(cg, Fault.LOG_FULL)


def _discard_always(cg: CodeGen, reason: Drop) -> None:
    """Code after this is never reached, and still has to be well formed."""
    discard(cg, llvm.Constant(integer(1), 1), reason)
