"""One function per kind of statement; ``emit_statement`` picks it. Above them, whole controls."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.llvm import expressions, packet, sharing
from emulator.p4.llvm.context import Emitter
from emulator.p4.llvm.expressions import plain_header
from emulator.p4.llvm.loops import emit_break, emit_continue, emit_loop
from emulator.p4.llvm.repeat import emit_repeat
from emulator.p4.llvm.tables import apply_table


def emit_statement(e: Emitter, statement: ir.Statement) -> None:
    match statement:
        case ir.Assign(target, value) if isinstance(target.type, ir.VarBits):
            expressions.assign_varbits(e, target, value)
        case ir.Assign(target, value):
            expressions.assign(e, target, expressions.value(e, value))
        case ir.If(condition, then, otherwise):
            e.branch_if(expressions.value(e, condition), then, otherwise)
        case ir.Switch(value, cases, default):
            e.switch(expressions.value(e, value), [(c.values, c.body) for c in cases], default)
        case ir.Region(_, body, cleanup):
            e.region(body, cleanup)
        case ir.Return():
            e.leave_region()
        case ir.Exit():
            e.leave_all()
        case ir.ApplyTable():
            apply_table(e, statement)
        case ir.CallExtern(name):
            e.externs[name](e, statement)
        case ir.Loop():
            emit_loop(e, statement)
        case ir.Break():
            emit_break(e)
        case ir.Continue():
            emit_continue(e)
        case ir.Repeat():
            emit_repeat(e, statement)
        case ir.SetValidity(header, valid):
            expressions.set_validity(e, plain_header(header), valid)
        case ir.CopyHeader(target, source):
            expressions.copy_header(e, plain_header(target), plain_header(source))
        case ir.Extract(header, variable_bits):
            packet.extract(e, plain_header(header), variable_bits)
        case ir.Lookahead():
            packet.lookahead(e, statement)
        case ir.Advance(bits):
            packet.advance(e, bits)
        case ir.Verify():
            packet.verify(e, statement)
        case ir.Emit(header):
            packet.emit(e, plain_header(header))
        case _:
            raise TypeError(f"the pass lower_stacks leaves no {type(statement).__name__}")


def emit_control(e: Emitter, body: ir.Block) -> None:
    """A control's body from the architecture's point of view: however it ends, code goes on after it."""
    e.exit_block, e.exit_owned = e.new_block("done"), None
    e.block(body)
    if not e.b.block.is_terminated:
        e.end_block()
    sharing.finish(e)
    e.join(e.exit_block, e.exit_owned)
