"""The random generator as LLVM code; see ``emulator.v1model.random_numbers``."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.layout import width_of
from emulator.p4.llvm import expressions
from emulator.p4.llvm.bits import I64, Value, constant, i64, load, resize, store
from emulator.p4.llvm.context import CodeGen
from emulator.p4.llvm.expressions import is_signed
from emulator.v1model.layout import Word
from emulator.v1model.llvm.counting import count_fault
from emulator.v1model.metadata import Fault
from emulator.v1model.random_numbers import LAST_SHIFT, MIX, STEP


def emit_next(cg: CodeGen) -> Value:
    """Any 64 bits."""
    b, memory = cg.b, cg.context_word(Word.RANDOM)
    value = b.add(load(b, I64, memory, 0, align=8), i64(STEP))
    store(b, value, memory, 0, align=8)
    for shift, factor in MIX:
        value = b.mul(b.xor(value, b.lshr(value, i64(shift))), i64(factor))
    return b.xor(value, b.lshr(value, i64(LAST_SHIFT)))


def random(cg: CodeGen, call: ir.CallExtern) -> None:
    """Bounds the wrong way round leave the target alone (bmv2)."""
    b, out = cg.b, call.place(0)
    low, high = (
        resize(b, expressions.value(cg, call.expr(i)), 64, signed=is_signed(call.expr(i).type)) for i in (1, 2)
    )
    owned = set(cg.storage.owned)
    with b.if_else(b.icmp_unsigned("<=", low, high)) as (sound, wrong):
        with sound:
            count = b.add(b.sub(high, low), i64(1))
            value = emit_next(cg)
            product = b.mul(resize(b, value, 128), resize(b, count, 128))
            scaled = b.add(low, resize(b, b.lshr(product, constant(64, 128)), 64))
            result = b.select(b.icmp_unsigned("==", count, i64(0)), value, scaled)
            expressions.assign(cg, out, resize(b, result, width_of(out.type)))
        with wrong:
            count_fault(cg, Fault.RANDOM_BOUNDS)
    cg.storage.owned &= owned
