"""One function per kind of statement; ``emit_statement`` picks it."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.llvm import packet
from emulator.p4.llvm.emitter import Emitter, plain_header
from emulator.p4.llvm.loops import emit_break, emit_continue, emit_loop
from emulator.p4.llvm.repeat import emit_repeat
from emulator.p4.llvm.tables import apply_table


def emit_statement(e: Emitter, statement: ir.Statement) -> None:
    match statement:
        case ir.Assign(target, value) if isinstance(target.type, ir.VarBits):
            e.assign_varbits(target, value)
        case ir.Assign(target, value):
            e.assign(target, e.value(value))
        case ir.If(condition, then, otherwise):
            e.branch_if(e.value(condition), then, otherwise)
        case ir.Switch(value, cases, default):
            e.switch(e.value(value), [(c.values, c.body) for c in cases], default)
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
            e.set_validity(plain_header(header), valid)
        case ir.CopyHeader(target, source):
            e.copy_header(plain_header(target), plain_header(source))
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
