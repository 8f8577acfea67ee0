"""clone, resubmit, recirculate and truncate as LLVM code: they set the packet's pending operations (``registers``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from emulator.p4 import ir
from emulator.p4.llvm import expressions
from emulator.p4.llvm.bits import constant, resize
from emulator.p4.llvm.context import CodeGen
from emulator.v1model.features import CLONES, RECIRCULATES, RESUBMITS, Features
from emulator.v1model.layout import CLONE_SESSIONS
from emulator.v1model.llvm.registers import CLONE, CLONE_LIST, CLONE_PENDING, CUT, RECIRCULATE, RESUBMIT


def _list(cg: CodeGen, call: ir.CallExtern) -> int:
    uses: Features = cg.notes["uses"]
    return uses.list_of(call)


def clone(cg: CodeGen, call: ir.CallExtern) -> None:
    session = cg.b.and_(resize(cg.b, expressions.value(cg, call.expr(1)), 32), constant(CLONE_SESSIONS - 1, 32))
    CLONE.put(cg, cg.b.or_(session, constant(CLONE_PENDING, 32)))
    CLONE_LIST.put(cg, _list(cg, call))


def resubmit(cg: CodeGen, call: ir.CallExtern) -> None:
    RESUBMIT.put(cg, 1 + _list(cg, call))


def recirculate(cg: CodeGen, call: ir.CallExtern) -> None:
    RECIRCULATE.put(cg, 1 + _list(cg, call))


def truncate(cg: CodeGen, call: ir.CallExtern) -> None:
    """The smallest of several calls counts."""
    length, before = resize(cg.b, expressions.value(cg, call.expr(0)), 32), CUT.get(cg)
    CUT.put(cg, cg.b.select(cg.b.icmp_unsigned("<", length, before), length, before))


EXTERNS: Mapping[str, Callable[[CodeGen, ir.CallExtern], None]] = {
    **dict.fromkeys(CLONES, clone),
    **dict.fromkeys(RESUBMITS, resubmit),
    **dict.fromkeys(RECIRCULATES, recirculate),
    "truncate": truncate,
}
