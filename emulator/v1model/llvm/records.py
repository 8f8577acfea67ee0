"""Digests and log messages as LLVM code: records in flat memory that the control side reads between batches."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from emulator.p4 import ir
from emulator.p4.layout import Cell, cell_bytes, width_of
from emulator.p4.llvm import expressions
from emulator.p4.llvm.arithmetic import shift
from emulator.p4.llvm.bits import I64, Value, at, constant, i64, integer, load, resize, store
from emulator.p4.llvm.context import Emitter
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


def _store_cell(e: Emitter, record: Value, cell: Cell, value: Value) -> None:
    wide = resize(e.b, value, cell_bytes(cell.width_bits) * 8)
    store(e.b, wide, record, cell.offset_bytes, align=min(cell.size_bytes, 8))


# --- Digests ------------------------------------------------------------------------------------------------------


def _field(e: Emitter, layout: DigestLayout, index: int) -> tuple[Value, Any]:
    """The slot that a field waits in until ingress ends, and its type."""
    kind = integer(layout.cells[index].width_bits)
    return e.storage.slot(f"$digest.{layout.name}.{index}", kind), kind


def digest(e: Emitter, call: ir.CallExtern) -> None:
    """The fields as they are now; they leave at the end of ingress, and only the last call's do (bmv2)."""
    name, _, data = call.arguments
    assert isinstance(name, ir.Text)
    assert isinstance(data, tuple)
    layouts = _layout(e).digests
    number = next(i for i, d in enumerate(layouts) if d.name == name.text)
    for index, expr in enumerate(data):
        e.b.store(_value(e, expr), _field(e, layouts[number], index)[0])
    DIGEST.put(e, 1 + number)


def _value(e: Emitter, expr: ir.Expr) -> Value:
    """Of a field of variable width the number that its bits make: they come first in the field's full width."""
    value = expressions.value(e, expr)
    if isinstance(expr.type, ir.VarBits):
        unused = e.b.sub(i64(expr.type.max_width_bits), expressions.varbit_content(e, expr)[1])
        value = shift(e.b, ir.BinaryOp.SHR, value, unused, signed=False)
    return value


def _layout(e: Emitter) -> PipelineLayout:
    found: PipelineLayout = e.notes["layout"]
    return found


def send_digest(e: Emitter) -> None:
    """At the end of ingress: what digest() left goes into its queue."""
    b, layouts = e.b, _layout(e).digests
    if not layouts:
        return
    end = e.new_block("digested")
    node = b.switch(DIGEST.get(e), end)
    for number, layout in enumerate(layouts):
        start = e.new_block("digest")
        node.add_case(constant(1 + number, 32), start)
        b.position_at_end(start)
        _send(e, layout)
        b.branch(end)
    b.position_at_end(end)
    DIGEST.put(e, 0)


def _send(e: Emitter, layout: DigestLayout) -> None:
    b, queue = e.b, e.context_word(layout.word)
    written = load(b, I64, queue, DIGEST_WRITTEN, align=8)
    waiting = b.sub(written, load(b, I64, queue, DIGEST_TAKEN, align=8))
    with b.if_else(b.icmp_unsigned("<", waiting, i64(DIGEST_SAMPLES))) as (room, full):
        with room:
            place = b.mul(b.urem(written, i64(DIGEST_SAMPLES)), i64(layout.sample_bytes))
            record = at(b, queue, b.add(place, i64(DIGEST_HEADER_BYTES)))
            for index, cell in enumerate(layout.cells):
                slot, kind = _field(e, layout, index)
                _store_cell(e, record, cell, b.load(slot, typ=kind))
            store(b, b.add(written, i64(1)), queue, DIGEST_WRITTEN, align=8)
        with full:
            count_drop(e, Drop.DIGEST_FULL)


# --- Messages -----------------------------------------------------------------------------------------------------


def log_message(e: Emitter, call: ir.CallExtern) -> None:
    b, formats, message = e.b, _layout(e).messages, format_of(call)
    if not message.is_sound:
        _discard_always(e, Drop.LOG_FORMAT)
        return
    values = [(expressions.value(e, v), width_of(v.type)) for v in values_of(call)]
    log = e.context_word(Word.LOG)
    count = load(b, I64, log, LOG_COUNT, align=8)
    with b.if_else(b.icmp_unsigned("<", count, i64(LOG_CAPACITY))) as (room, full):
        with room:
            place = b.add(b.mul(count, i64(record_bytes(formats))), i64(LOG_HEADER_BYTES))
            record = at(b, log, place)
            store(b, i64(formats.index(message)), record, 0, align=8)
            for cell, (value, _) in zip(message.cells, values, strict=True):
                _store_cell(e, record, cell, value)
            store(b, b.add(count, i64(1)), log, LOG_COUNT, align=8)
        with full:
            count_fault(e, Fault.LOG_FULL)


def _discard_always(e: Emitter, reason: Drop) -> None:
    """Code after this is never reached, and still has to be well formed."""
    discard(e, llvm.Constant(integer(1), 1), reason)
