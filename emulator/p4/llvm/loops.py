"""``Loop``, ``Break``, ``Continue``. What a turn leaves isn't known, so no header is owned from turn to turn."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.llvm import expressions
from emulator.p4.llvm.bits import I32, constant
from emulator.p4.llvm.context import Emitter


def emit_loop(e: Emitter, loop: ir.Loop) -> None:
    b = e.b
    head, tested, body, update, end = (e.new_block(n) for n in ("loop", "test", "body", "update", "loop.end"))
    turns = e.storage.slot(f"$turns{len(e.loops)}", I32)
    b.store(constant(0, 32), turns)
    b.branch(head)
    b.position_at_end(head)
    e.storage.owned = set()
    _count_turn(e, turns, tested)
    b.position_at_end(tested)
    e.block(loop.prelude)
    if not b.block.is_terminated:
        b.cbranch(expressions.value(e, loop.condition), body, end)
    e.loops.append((update, end))
    b.position_at_end(body)
    e.storage.owned = set()
    e.block(loop.body)
    e.loops.pop()
    if not b.block.is_terminated:
        b.branch(update)
    b.position_at_end(update)
    e.storage.owned = set()
    e.block(loop.update)
    if not b.block.is_terminated:
        b.branch(head)
    b.position_at_end(end)
    e.storage.owned = set()


def _count_turn(e: Emitter, turns: object, tested: object) -> None:
    limit = e.new_block("loop.limit")
    count = e.b.load(turns, typ=I32)
    e.b.store(e.b.add(count, constant(1, 32)), turns)
    e.b.cbranch(e.b.icmp_unsigned("<", count, constant(ir.LOOP_LIMIT, 32)), tested, limit)
    e.b.position_at_end(limit)
    e.hooks.on_loop_limit(e)


def emit_break(e: Emitter) -> None:
    e.b.branch(e.loops[-1][1])


def emit_continue(e: Emitter) -> None:
    e.b.branch(e.loops[-1][0])
