"""Drops and faults as LLVM code: each is counted by its reason."""

from __future__ import annotations

from emulator.p4.llvm.bits import Value, at
from emulator.p4.llvm.context import Emitter
from emulator.v1model.layout import Word
from emulator.v1model.metadata import Drop, Fault


def count_drop(e: Emitter, reason: Drop, count: Value | int = 1) -> None:
    e.add_to(at(e.b, e.context_word(Word.DROPS), 8 * reason.index), count)


def count_fault(e: Emitter, fault: Fault) -> None:
    e.add_to(at(e.b, e.context_word(Word.FAULTS), 8 * fault.index), 1)


def drop_if(e: Emitter, condition: Value, reason: Drop, then: Value, count: Value | int = 1) -> None:
    """Where the condition holds: count, and go on at the block ``then``."""
    dropped, kept = e.new_block("dropped"), e.new_block("kept")
    e.b.cbranch(condition, dropped, kept)
    e.b.position_at_end(dropped)
    count_drop(e, reason, count)
    e.b.branch(then)
    e.b.position_at_end(kept)


def discard(e: Emitter, condition: Value, reason: Drop) -> None:
    """Where the condition holds the packet, or the copy, is gone at once."""
    drop_if(e, condition, reason, e.notes["discard"])
