"""Counting drops and faults by their reasons, as LLVM code."""

from __future__ import annotations

from emulator.p4.llvm.bits import Value, at
from emulator.p4.llvm.context import CodeGen
from emulator.v1model.layout import Word
from emulator.v1model.metadata import Drop, Fault


def count_drop(cg: CodeGen, reason: Drop, count: Value | int = 1) -> None:
    cg.add_to(at(cg.b, cg.context_word(Word.DROPS), 8 * reason.index), count)


def count_fault(cg: CodeGen, fault: Fault) -> None:
    cg.add_to(at(cg.b, cg.context_word(Word.FAULTS), 8 * fault.index), 1)


def drop_if(cg: CodeGen, condition: Value, reason: Drop, then: Value, count: Value | int = 1) -> None:
    """Where the condition holds: count, and continue at the block ``then``."""
    dropped, kept = cg.new_block("dropped"), cg.new_block("kept")
    cg.b.cbranch(condition, dropped, kept)
    cg.b.position_at_end(dropped)
    count_drop(cg, reason, count)
    cg.b.branch(then)
    cg.b.position_at_end(kept)


def discard(cg: CodeGen, condition: Value, reason: Drop) -> None:
    """Where the condition holds, the packet or the copy is dropped at once."""
    drop_if(cg, condition, reason, cg.notes["discard"])
