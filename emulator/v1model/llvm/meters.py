"""A meter's arithmetic as LLVM code; see ``emulator.v1model.meters`` for what it does and where a cell's parts are."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from emulator.p4.llvm.bits import I64, PTR, Builder, Value, at, i64, load, store
from emulator.v1model.meters import (
    BUCKET_BURST,
    BUCKET_RATE,
    BUCKET_TOKENS,
    COUNT_BYTES,
    METER_COMMITTED,
    METER_CONFIGURED,
    METER_COUNTS,
    METER_LAST_US,
    METER_PEAK,
    NANOSECONDS_PER_MICROSECOND,
    Colour,
)

F64 = llvm.DoubleType()
FUNCTION = "netsum_meter"
SATURATING = "llvm.fptoui.sat.i64.f64"


def emit_meter(b: Builder, cell: Value, amount: Value, length: Value, now_ns: Value) -> Value:
    """The packet's colour, i64. ``cell`` is the meter's address, ``amount`` the tokens it needs, ``length`` its bytes,
    i64."""
    module = b.module
    if FUNCTION not in module.globals:
        _write(module)
    return b.call(module.globals[FUNCTION], [cell, amount, length, now_ns])


def _write(module: llvm.Module) -> None:
    function = llvm.Function(module, llvm.FunctionType(I64, [PTR, I64, I64, I64]), FUNCTION)
    function.linkage = "internal"
    cell, amount, length, now_ns = function.args
    entry, configured, fill, ask, plenty, green = (
        function.append_basic_block(n) for n in ("entry", "configured", "fill", "ask", "plenty", "green")
    )
    b = llvm.IRBuilder(entry)
    b.cbranch(b.icmp_unsigned("!=", load(b, I64, cell, METER_CONFIGURED, align=8), i64(0)), configured, green)
    b.position_at_end(configured)
    now_us = b.udiv(now_ns, i64(NANOSECONDS_PER_MICROSECOND))
    last_us = load(b, I64, cell, METER_LAST_US, align=8)
    b.cbranch(b.icmp_unsigned(">", now_us, last_us), fill, ask)
    b.position_at_end(fill)
    for bucket in (METER_PEAK, METER_COMMITTED):
        _fill(b, at(b, cell, bucket), last_us, now_us)
    store(b, now_us, cell, METER_LAST_US, align=8)
    b.branch(ask)
    b.position_at_end(ask)
    with b.if_then(_lacks(b, at(b, cell, METER_PEAK), amount)):
        _return(b, cell, length, Colour.RED)
    b.branch(plenty)
    b.position_at_end(plenty)
    _take(b, at(b, cell, METER_PEAK), amount)
    with b.if_then(_lacks(b, at(b, cell, METER_COMMITTED), amount)):
        _return(b, cell, length, Colour.YELLOW)
    _take(b, at(b, cell, METER_COMMITTED), amount)
    b.branch(green)
    b.position_at_end(green)
    _return(b, cell, length, Colour.GREEN)


def _return(b: Builder, cell: Value, length: Value, colour: Colour) -> None:
    """Counts the packet."""
    start = METER_COUNTS + COUNT_BYTES * colour
    for offset, amount in ((start, i64(1)), (start + 8, length)):
        store(b, b.add(load(b, I64, cell, offset, align=8), amount), cell, offset, align=8)
    b.ret(i64(colour))


def _tokens_until(b: Builder, time_us: Value, rate: Value) -> Value:
    module = b.module
    if SATURATING not in module.globals:
        llvm.Function(module, llvm.FunctionType(I64, [F64]), SATURATING)
    return b.call(module.globals[SATURATING], [b.fmul(b.uitofp(time_us, F64), rate)])


def _fill(b: Builder, bucket: Value, last_us: Value, now_us: Value) -> None:
    rate: Any = load(b, F64, bucket, BUCKET_RATE, align=8)
    new = b.sub(_tokens_until(b, now_us, rate), _tokens_until(b, last_us, rate))
    tokens, burst = (load(b, I64, bucket, part, align=8) for part in (BUCKET_TOKENS, BUCKET_BURST))
    fits = b.icmp_unsigned("<", new, b.sub(burst, tokens))
    store(b, b.select(fits, b.add(tokens, new), burst), bucket, BUCKET_TOKENS, align=8)


def _lacks(b: Builder, bucket: Value, amount: Value) -> Value:
    return b.icmp_unsigned("<", load(b, I64, bucket, BUCKET_TOKENS, align=8), amount)


def _take(b: Builder, bucket: Value, amount: Value) -> None:
    left = b.sub(load(b, I64, bucket, BUCKET_TOKENS, align=8), amount)
    store(b, left, bucket, BUCKET_TOKENS, align=8)
