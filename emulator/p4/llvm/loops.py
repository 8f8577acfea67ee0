"""``Loop``, ``Break``, ``Continue``. What a turn leaves isn't known, so no header is owned from turn to turn."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.llvm import expressions
from emulator.p4.llvm.bits import I32, constant
from emulator.p4.llvm.context import CodeGen


def emit_loop(cg: CodeGen, loop: ir.Loop) -> None:
    b = cg.b
    head, tested, body, update, end = (cg.new_block(n) for n in ("loop", "test", "body", "update", "loop.end"))
    turns = cg.storage.slot(f"$turns{len(cg.loops)}", I32)
    b.store(constant(0, 32), turns)
    b.branch(head)
    b.position_at_end(head)
    cg.storage.owned = set()
    _count_turn(cg, turns, tested)
    b.position_at_end(tested)
    cg.block(loop.prelude)
    if not b.block.is_terminated:
        b.cbranch(expressions.value(cg, loop.condition), body, end)
    cg.loops.append((update, end))
    b.position_at_end(body)
    cg.storage.owned = set()
    cg.block(loop.body)
    cg.loops.pop()
    if not b.block.is_terminated:
        b.branch(update)
    b.position_at_end(update)
    cg.storage.owned = set()
    cg.block(loop.update)
    if not b.block.is_terminated:
        b.branch(head)
    b.position_at_end(end)
    cg.storage.owned = set()


def _count_turn(cg: CodeGen, turns: object, tested: object) -> None:
    limit = cg.new_block("loop.limit")
    count = cg.b.load(turns, typ=I32)
    cg.b.store(cg.b.add(count, constant(1, 32)), turns)
    cg.b.cbranch(cg.b.icmp_unsigned("<", count, constant(ir.LOOP_LIMIT, 32)), tested, limit)
    cg.b.position_at_end(limit)
    cg.hooks.on_loop_limit(cg)


def emit_break(cg: CodeGen) -> None:
    cg.b.branch(cg.loops[-1][1])


def emit_continue(cg: CodeGen) -> None:
    cg.b.branch(cg.loops[-1][0])
