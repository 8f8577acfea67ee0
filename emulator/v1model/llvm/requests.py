"""clone, resubmit, recirculate and truncate as LLVM code: they only note what is wanted (see ``registers``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from emulator.p4 import ir
from emulator.p4.llvm import expressions
from emulator.p4.llvm.bits import constant, resize
from emulator.p4.llvm.context import Emitter
from emulator.v1model.layout import CLONE_SESSIONS
from emulator.v1model.llvm.registers import CLONE, CLONE_LIST, CLONE_WANTED, CUT, RECIRCULATE, RESUBMIT
from emulator.v1model.uses import CLONES, RECIRCULATES, RESUBMITS, Uses


def _list(e: Emitter, call: ir.CallExtern) -> int:
    uses: Uses = e.notes["uses"]
    return uses.list_of(call)


def clone(e: Emitter, call: ir.CallExtern) -> None:
    session = e.b.and_(resize(e.b, expressions.value(e, call.expr(1)), 32), constant(CLONE_SESSIONS - 1, 32))
    CLONE.put(e, e.b.or_(session, constant(CLONE_WANTED, 32)))
    CLONE_LIST.put(e, _list(e, call))


def resubmit(e: Emitter, call: ir.CallExtern) -> None:
    RESUBMIT.put(e, 1 + _list(e, call))


def recirculate(e: Emitter, call: ir.CallExtern) -> None:
    RECIRCULATE.put(e, 1 + _list(e, call))


def truncate(e: Emitter, call: ir.CallExtern) -> None:
    """The smallest of several calls counts."""
    wanted, before = resize(e.b, expressions.value(e, call.expr(0)), 32), CUT.get(e)
    CUT.put(e, e.b.select(e.b.icmp_unsigned("<", wanted, before), wanted, before))


EXTERNS: Mapping[str, Callable[[Emitter, ir.CallExtern], None]] = {
    **dict.fromkeys(CLONES, clone),
    **dict.fromkeys(RESUBMITS, resubmit),
    **dict.fromkeys(RECIRCULATES, recirculate),
    "truncate": truncate,
}
