"""v1model's externs as LLVM code, one small function each; the registry at the end names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.p4 import ir
from emulator.p4.layout import cell_bytes, width_of
from emulator.p4.llvm import expressions, varbits
from emulator.p4.llvm.bits import Value, at, constant, i64, integer, load, resize, store
from emulator.p4.llvm.context import CodeGen, Hooks
from emulator.v1model.features import Features
from emulator.v1model.layout import CounterLayout, PipelineLayout, RegisterLayout
from emulator.v1model.llvm import requests
from emulator.v1model.llvm.checksums import emit_checksum16_get, emit_hash, emit_update, emit_verify
from emulator.v1model.llvm.counting import count_drop, count_fault, discard
from emulator.v1model.llvm.hits import hit, miss, select_member
from emulator.v1model.llvm.meters import emit_meter
from emulator.v1model.llvm.random_numbers import random
from emulator.v1model.llvm.records import digest, log_message
from emulator.v1model.llvm.registers import FRAME_LENGTH, LENGTH, NOW
from emulator.v1model.metadata import Drop, Fault
from emulator.v1model.meters import METER_BYTES
from emulator.v1model.target import HASH_OF_VALID


class Notes:
    """Keys of ``CodeGen.notes``, which the pipeline fills for the externs."""

    LAYOUT = "layout"
    USES = "uses"
    DISCARD = "discard"
    """Block to continue at when the packet or the copy is dropped; the drop is already counted."""
    REGISTERS = "registers"
    COUNTERS = "counters"


def note_layout(notes: dict[str, Any], layout: PipelineLayout, uses: Features) -> None:
    notes[Notes.LAYOUT] = layout
    notes[Notes.USES] = uses
    notes[Notes.REGISTERS] = {r.name: r for r in layout.registers}
    notes[Notes.COUNTERS] = {c.name: c for c in layout.counters}


# --- Registers --------------------------------------------------------------------------------------------------


def _register(cg: CodeGen, call: ir.CallExtern) -> RegisterLayout:
    instance = call.instance
    if isinstance(instance, ir.LaneInstances):
        instance = instance.instances[0]
    assert instance is not None
    layout: RegisterLayout = cg.notes[Notes.REGISTERS][instance.name]
    return layout


def _in_range(cg: CodeGen, index: Value, size: int) -> Value:
    width = max(index.type.width, size.bit_length())
    return cg.b.icmp_unsigned("<", resize(cg.b, index, width), constant(size, width))


def _cell(cg: CodeGen, call: ir.CallExtern, register: RegisterLayout, index: Value) -> Value:
    b = cg.b
    row = b.mul(resize(b, index, 64), i64(register.row_bytes))
    pointer = at(b, at(b, cg.context_word(register.word), row), register.offset_bytes)
    if isinstance(call.instance, ir.LaneInstances):
        assert cg.turn is not None
        pointer = at(b, pointer, b.mul(cg.turn.index, i64(cell_bytes(register.width_bits))))
    return pointer


def _stored_width(register: RegisterLayout) -> int:
    return cell_bytes(register.width_bits) * 8


def _alignment(register: RegisterLayout) -> int:
    return min(cell_bytes(register.width_bits), 8)


def _guarded(cg: CodeGen, expr: ir.Expr, index: Value, size: int, fault: Fault) -> tuple[Any, Any] | None:
    """As `_check_index`, unless a Repeat has checked already, or the program has written a number that is in range:
    some thousand such checks, and LLVM's passes take gigabytes."""
    if (cg.turn is not None and not cg.turn.checked) or (isinstance(expr, ir.Constant) and expr.value < size):
        return None
    return _check_index(cg, index, size, fault)


def _check_index(cg: CodeGen, index: Value, size: int, fault: Fault) -> tuple[Any, Any]:
    """Continue where the index is in range. Returns the block to continue in after the access, and the one that counts
    the fault and branches there."""
    inside, outside, past = cg.new_block("cell"), cg.new_block("out_of_range"), cg.new_block("past")
    cg.b.cbranch(_in_range(cg, index, size), inside, outside)
    cg.b.position_at_end(outside)
    count_fault(cg, fault)
    cg.b.branch(past)
    cg.b.position_at_end(inside)
    return past, outside


def register_read(cg: CodeGen, call: ir.CallExtern) -> None:
    register = _register(cg, call)
    target, index = call.place(0), expressions.invariant(cg, call.expr(1))
    pointer_kind = integer(_stored_width(register), cg.lanes)
    guard = _guarded(cg, call.expr(1), index, register.size, Fault.REGISTER_INDEX)
    turn, name = cg.turn, target.name if isinstance(target, ir.Variable) else ""
    before = turn.private.get(name) if turn is not None else None
    owned = set(cg.storage.owned)
    stored = load(cg.b, pointer_kind, _cell(cg, call, register, index), 0, align=_alignment(register))
    value = resize(cg.b, stored, register.width_bits)
    expressions.assign(cg, target, value)
    if guard is not None:
        past, outside = guard
        inside_end = cg.b.block
        cg.b.branch(past)
        cg.b.position_at_end(past)
        cg.storage.owned &= owned
        if turn is not None and before is not None:
            merged = cg.b.phi(value.type)
            merged.add_incoming(value, inside_end)
            merged.add_incoming(before, outside)
            turn.private[name] = merged


def register_write(cg: CodeGen, call: ir.CallExtern) -> None:
    register = _register(cg, call)
    index, value = expressions.invariant(cg, call.expr(0)), expressions.value(cg, call.expr(1))
    guard = _guarded(cg, call.expr(0), index, register.size, Fault.REGISTER_INDEX)
    wide = resize(cg.b, value, _stored_width(register))
    store(cg.b, wide, _cell(cg, call, register, index), 0, align=_alignment(register))
    if guard is not None:
        cg.b.branch(guard[0])
        cg.b.position_at_end(guard[0])


def _register_unchecked(argument: int) -> Any:
    def condition(cg: CodeGen, call: ir.CallExtern) -> Value:
        return _in_range(cg, expressions.invariant(cg, call.expr(argument)), _register(cg, call).size)

    return condition


# --- Counters ---------------------------------------------------------------------------------------------------


def counter_count(cg: CodeGen, call: ir.CallExtern) -> None:
    assert isinstance(call.instance, ir.ExternInstance)
    counter: CounterLayout = cg.notes[Notes.COUNTERS][call.instance.name]
    index = expressions.value(cg, call.expr(0))
    past, _ = _check_index(cg, index, counter.size, Fault.COUNTER_INDEX)
    record = at(cg.b, cg.context_word(counter.word), cg.b.mul(resize(cg.b, index, 64), i64(16)))
    cg.add_to(record, 1)
    cg.add_to(at(cg.b, record, 8), FRAME_LENGTH.get(cg))
    cg.b.branch(past)
    cg.b.position_at_end(past)


def nothing(cg: CodeGen, call: ir.CallExtern) -> None:
    """direct_counter.count, direct_meter.read: bmv2 counts and meters at each hit of the table, before the action."""


def execute_meter(cg: CodeGen, call: ir.CallExtern) -> None:
    b, out = cg.b, call.place(1)
    assert isinstance(call.instance, ir.ExternInstance)
    layout: PipelineLayout = cg.notes[Notes.LAYOUT]
    meter = next(m for m in layout.meters if m.name == call.instance.name)
    index, owned = expressions.value(cg, call.expr(0)), set(cg.storage.owned)
    past, _ = _check_index(cg, index, meter.size, Fault.METER_INDEX)
    cell = at(b, cg.context_word(meter.word), b.mul(resize(b, index, 64), i64(METER_BYTES)))
    length = FRAME_LENGTH.get(cg)
    colour = emit_meter(b, cell, length if meter.in_bytes else i64(1), length, NOW.get(cg))
    expressions.assign(cg, out, resize(b, colour, width_of(out.type)))
    b.branch(past)
    b.position_at_end(past)
    cg.storage.owned &= owned


# --- The packet -------------------------------------------------------------------------------------------------


def assertion(cg: CodeGen, call: ir.CallExtern) -> None:
    """A false one drops the packet, counted; bmv2 would end the process."""
    discard(cg, cg.b.xor(expressions.value(cg, call.expr(0)), constant(1, 1)), Drop.ASSERTION)


def change_length(cg: CodeGen, header: ir.Header, valid: bool, was: Value) -> None:
    """packet_length in egress: setValid and setInvalid change it, nothing else does (bmv2). A header that becomes valid
    has nothing yet in a field of variable width."""
    b = cg.b
    size = (
        constant(-(-varbits.fixed_bits(header.type) // 8), 32)
        if valid
        else b.neg(resize(b, varbits.wire_bytes(cg, header), 32))
    )
    changes = b.xor(was, constant(1, 1)) if valid else was
    LENGTH.put(cg, b.add(LENGTH.get(cg), b.select(changes, size, constant(0, 32))))


def loop_limit(cg: CodeGen) -> None:
    count_drop(cg, Drop.LOOP_LIMIT)
    cg.b.branch(cg.notes[Notes.DISCARD])


EXTERNS: Mapping[str, Any] = {
    "register.read": register_read,
    "register.write": register_write,
    "counter.count": counter_count,
    "direct_counter.count": nothing,
    "hash": emit_hash,
    HASH_OF_VALID: emit_hash,
    "verify_checksum": emit_verify,
    "verify_checksum_with_payload": emit_verify,
    "update_checksum": emit_update,
    "update_checksum_with_payload": emit_update,
    "assert": assertion,
    "assume": assertion,
    "log_msg": log_message,
    "random": random,
    "digest": digest,
    "meter.execute_meter": execute_meter,
    "direct_meter.read": nothing,
    "Checksum16.get": emit_checksum16_get,
    **requests.EXTERNS,
}

HOOKS = Hooks(
    on_hit=hit,
    on_miss=miss,
    on_validity=change_length,
    on_loop_limit=loop_limit,
    select_member=select_member,
    unchecked={"register.read": _register_unchecked(1), "register.write": _register_unchecked(0)},
)
