"""One function per kind of statement; ``emit_statement`` picks it. Above them, whole controls."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.llvm import expressions, packet, sharing
from emulator.p4.llvm.context import CodeGen
from emulator.p4.llvm.expressions import plain_header
from emulator.p4.llvm.loops import emit_break, emit_continue, emit_loop
from emulator.p4.llvm.repeat import emit_repeat
from emulator.p4.llvm.tables import apply_table


def emit_statement(cg: CodeGen, statement: ir.Statement) -> None:
    match statement:
        case ir.Assign(target, value) if isinstance(target.type, ir.VarBits):
            expressions.assign_varbits(cg, target, value)
        case ir.Assign(target, value):
            expressions.assign(cg, target, expressions.value(cg, value))
        case ir.If(condition, then, otherwise):
            cg.branch_if(expressions.value(cg, condition), then, otherwise)
        case ir.Switch(value, cases, default):
            cg.switch(expressions.value(cg, value), [(c.values, c.body) for c in cases], default)
        case ir.Region(_, body, cleanup):
            cg.region(body, cleanup)
        case ir.Return():
            cg.leave_region()
        case ir.Exit():
            cg.leave_all()
        case ir.ApplyTable():
            apply_table(cg, statement)
        case ir.CallExtern(name):
            cg.externs[name](cg, statement)
        case ir.Loop():
            emit_loop(cg, statement)
        case ir.Break():
            emit_break(cg)
        case ir.Continue():
            emit_continue(cg)
        case ir.Repeat():
            emit_repeat(cg, statement)
        case ir.SetValidity(header, valid):
            expressions.set_validity(cg, plain_header(header), valid)
        case ir.CopyHeader(target, source):
            expressions.copy_header(cg, plain_header(target), plain_header(source))
        case ir.Extract(header, variable_bits):
            packet.extract(cg, plain_header(header), variable_bits)
        case ir.Lookahead():
            packet.lookahead(cg, statement)
        case ir.Advance(bits):
            packet.advance(cg, bits)
        case ir.Verify():
            packet.verify(cg, statement)
        case ir.Emit(header):
            packet.emit(cg, plain_header(header))
        case _:
            raise TypeError(f"the pass lower_stacks leaves no {type(statement).__name__}")


def emit_control(cg: CodeGen, body: ir.Block) -> None:
    """A control's body from the architecture's point of view: however it ends, code continues after it."""
    cg.exit_block, cg.exit_owned = cg.new_block("done"), None
    cg.block(body)
    if not cg.b.block.is_terminated:
        cg.end_block()
    sharing.finish(cg)
    cg.join(cg.exit_block, cg.exit_owned)
