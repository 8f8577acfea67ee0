"""hash, verify_checksum and update_checksum as LLVM code.

A list of fields is hashed as one bit string without gaps. Some calls leave out fields of invalid headers
(``target.VALID_LISTS``). Two ways:

* csum16 is a sum, so where each piece's position in its 16-bit word is known, pieces are summed in place, and a
  long run of fields as one range of memory. Positions are known if no piece is of variable width, and if the headers
  that would shift the rest (their part isn't a whole number of words) are valid; that is tested at run time.
* Otherwise the bit string is gathered in a buffer and a small function of the run-time library goes over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.p4 import ir
from emulator.p4.layout import width_of
from emulator.p4.llvm import expressions
from emulator.p4.llvm.arithmetic import divide
from emulator.p4.llvm.bits import (
    I64,
    Value,
    at,
    constant,
    copy_bytes,
    i64,
    integer,
    load,
    resize,
    store,
    swap_bytes,
)
from emulator.p4.llvm.context import CodeGen
from emulator.p4.llvm.expressions import is_signed
from emulator.v1model.layout import MAX_PAYLOAD_BYTES, Word
from emulator.v1model.llvm import library
from emulator.v1model.llvm.random_numbers import emit_next
from emulator.v1model.llvm.registers import payload as payload_of
from emulator.v1model.metadata import Algorithm, standard
from emulator.v1model.target import VALID_LISTS

VECTOR_FROM_BYTES = 128
"""Shorter runs are summed by straight code."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the list: a run of one header's bits, or a computed value."""

    header: ir.Header | None
    """The header that holds the bits; None for a computed value."""
    is_optional: bool
    """Left out while the header is invalid."""
    position_bits: int
    """Position in the list, if nothing before it is left out."""
    width_bits: int
    expr: ir.Expr

    @property
    def offset_bits(self) -> int | None:
        """Where the piece is in its header; None for a computed value."""
        match self.expr:
            case ir.FieldRef(_, field):
                return field.offset_bits
            case ir.FieldRun(_, offset, _):
                return offset
        return None

    @property
    def is_bytes(self) -> bool:
        """Whole bytes of a header at a whole byte of the list."""
        offset = self.offset_bits
        return offset is not None and all(n % 8 == 0 for n in (offset, self.position_bits, self.width_bits))


def pieces_of(data: ir.Argument, only_valid: bool) -> list[Piece]:
    pieces, position = [], 0
    for expr in data if isinstance(data, tuple) else (data,):
        assert not isinstance(expr, ir.Text)
        header = expr.header if isinstance(expr, ir.FieldRef | ir.FieldRun) else None
        assert header is None or isinstance(header, ir.Header)
        pieces.append(Piece(header, only_valid and header is not None, position, width_of(expr.type), expr))
        position += width_of(expr.type)
    return pieces


def _name(piece: Piece) -> str | None:
    return piece.header.name if piece.header is not None else None


def shifting_headers(pieces: list[Piece]) -> list[ir.Header]:
    """Headers without which the pieces after theirs would be at other places in their 16-bit words."""
    result: dict[str, ir.Header] = {}
    run = 0
    for i, piece in enumerate(pieces):
        run += piece.width_bits
        following = pieces[i + 1] if i + 1 < len(pieces) else None
        if following is None or _name(following) != _name(piece):
            if piece.header is not None and piece.is_optional and run % 16 and following is not None:
                result[piece.header.name] = piece.header
            run = 0
    return list(result.values())


def emit_checksum(
    cg: CodeGen, algorithm: ir.Argument, data: ir.Argument, *, payload: bool = False, only_valid: bool
) -> Value:
    """The hash value, 64 bits. ``only_valid``: fields of invalid headers are left out."""
    assert isinstance(algorithm, ir.Constant), "the algorithm of a hash is a constant (the checker refuses others)"
    kind, pieces = Algorithm(algorithm.value), pieces_of(data, only_valid)
    if kind is Algorithm.RANDOM:
        return emit_next(cg)
    variable = any(isinstance(p.expr.type, ir.VarBits) for p in pieces)
    if kind is not Algorithm.CSUM16 or payload or variable:
        return _gathered(cg, kind, pieces, payload=payload)
    shifting = shifting_headers(pieces)
    if not shifting:
        return _summed(cg, pieces, set())
    b = cg.b
    known = constant(1, 1)
    for header in shifting:
        known = b.and_(known, cg.storage.valid(b, header))
    fast, slow, end = cg.new_block("sum"), cg.new_block("gather"), cg.new_block("hashed")
    b.cbranch(known, fast, slow)
    b.position_at_end(fast)
    quick = _summed(cg, pieces, {h.name for h in shifting})
    fast_end = b.block
    b.branch(end)
    b.position_at_end(slow)
    thorough = _gathered(cg, kind, pieces, payload=False)
    slow_end = b.block
    b.branch(end)
    b.position_at_end(end)
    result = b.phi(I64)
    result.add_incoming(quick, fast_end)
    result.add_incoming(thorough, slow_end)
    return result


# --- Summing in place (RFC 1071: in any byte order, to be swapped at the end) -------------------------------------


def _fold(b: Any, value: Value) -> Value:
    """A 64-bit sum of 16-bit words, end-around carries added: at most 16 bits."""
    for shift, mask in ((32, 0xFFFF_FFFF), (16, 0xFFFF), (16, 0xFFFF), (16, 0xFFFF)):
        value = b.add(b.and_(value, i64(mask)), b.lshr(value, i64(shift)))
    return value


def _swap16(b: Any, value: Value) -> Value:
    return resize(b, swap_bytes(b, resize(b, value, 16)), 64)


def _summed(cg: CodeGen, pieces: list[Piece], known_valid: set[str]) -> Value:
    b = cg.b
    total: Value = i64(0)
    swapped: Value = i64(0)
    for piece in pieces:
        amount, in_memory_order = _piece_sum(cg, piece)
        if piece.header is not None and piece.is_optional and piece.header.name not in known_valid:
            amount = b.select(cg.storage.valid(b, piece.header), amount, i64(0))
        if in_memory_order:
            swapped = b.add(swapped, amount)
        else:
            total = b.add(total, amount)
    total = _fold(b, b.add(total, _swap16(b, _fold(b, swapped))))
    return b.xor(total, i64(0xFFFF))


def _piece_sum(cg: CodeGen, piece: Piece) -> tuple[Value, bool]:
    """The piece's share of the sum, below 2**48, and whether it is in memory's byte order."""
    b = cg.b
    if piece.is_bytes and piece.header is not None and cg.storage.in_memory(piece.header):
        assert piece.offset_bits is not None
        start = at(b, cg.storage.base(b, piece.header), piece.offset_bits // 8)
        share = _memory_sum(cg, start, piece.width_bits // 8)
        odd = piece.position_bits // 8 % 2 == 1
        return (_swap16(b, _fold(b, share)), True) if odd else (share, True)
    lead = piece.position_bits % 16
    total = -(-(lead + piece.width_bits) // 16) * 16
    value = b.shl(resize(b, expressions.value(cg, piece.expr), total), constant(total - lead - piece.width_bits, total))
    return _value_sum(b, value, total), False


def _value_sum(b: Any, value: Value, width: int) -> Value:
    """Sum of a number's 16-bit words, taken 32 bits at a time: the high half's weight is 1 in one's complement too."""
    share: Value = i64(0)
    for start in range(0, width, 32):
        part = resize(b, b.lshr(value, constant(start, width)), min(32, width - start))
        share = b.add(share, resize(b, part, 64))
    return share


def _memory_sum(cg: CodeGen, start: Value, length: int) -> Value:
    """Sum of the 16-bit words in memory's byte order; an odd last byte counts as the word's first."""
    b = cg.b
    total: Value = i64(0)
    done = 0
    if length >= VECTOR_FROM_BYTES:
        done = length // library.SUM_BLOCK_BYTES * library.SUM_BLOCK_BYTES
        total = b.call(library.declare(b.module, "netsum_sum"), [start, i64(done)])
    while done < length:
        size = next(s for s in (4, 2, 1) if s <= length - done)
        word = load(b, integer(size * 8), start, done)
        total = b.add(total, resize(b, word, 64))
        done += size
    return total


# --- Gathering --------------------------------------------------------------------------------------------------


def _gathered(cg: CodeGen, kind: Algorithm, pieces: list[Piece], *, payload: bool) -> Value:
    b = cg.b
    buffer = cg.context_word(Word.HASH_BUFFER)
    position = cg.storage.slot("$hash_bits", I64)
    b.store(i64(0), position)
    for piece in pieces:
        _gather(cg, piece, buffer, position)
    length = b.lshr(b.add(b.load(position, typ=I64), i64(7)), i64(3))
    if payload:
        start, size = payload_of(cg)
        size = b.select(b.icmp_unsigned(">", size, i64(MAX_PAYLOAD_BYTES)), i64(MAX_PAYLOAD_BYTES), size)
        copy_bytes(b, at(b, buffer, length), start, size)
        length = b.add(length, size)
    return b.call(library.declare(b.module, library.FUNCTIONS[kind]), [buffer, length])


def _gather(cg: CodeGen, piece: Piece, buffer: Value, position: Value) -> None:
    b = cg.b
    if piece.header is None:
        _gather_value(cg, piece, buffer, position)
    elif piece.is_optional:
        with b.if_then(cg.storage.valid(b, piece.header)):
            _gather_field(cg, piece, piece.header, buffer, position)
    else:
        _gather_field(cg, piece, piece.header, buffer, position)


def _gather_field(cg: CodeGen, piece: Piece, header: ir.Header, buffer: Value, position: Value) -> None:
    b, offset = cg.b, piece.offset_bits
    assert offset is not None
    if isinstance(piece.expr.type, ir.VarBits):
        start, width = expressions.varbit_content(cg, piece.expr)
        _append(cg, start, width, buffer, position)
    elif offset % 8 == 0 and cg.storage.in_memory(header):
        start = at(b, cg.storage.base(b, header), offset // 8)
        _append(cg, start, i64(piece.width_bits), buffer, position)
    else:
        _gather_value(cg, piece, buffer, position)


def _gather_value(cg: CodeGen, piece: Piece, buffer: Value, position: Value) -> None:
    """A value goes to memory first, its top bit at the top of a byte."""
    b = cg.b
    total = -(-piece.width_bits // 8) * 8
    memory = cg.storage.slot(f"$hash_value{total}", integer(total))
    value = b.shl(resize(b, expressions.value(cg, piece.expr), total), constant(total - piece.width_bits, total))
    store(b, swap_bytes(b, value), memory)
    _append(cg, memory, i64(piece.width_bits), buffer, position)


def _append(cg: CodeGen, start: Value, width: Value, buffer: Value, position: Value) -> None:
    here = cg.b.load(position, typ=I64)
    cg.b.call(library.declare(cg.b.module, "netsum_append"), [buffer, here, start, width])
    cg.b.store(cg.b.add(here, width), position)


# --- The externs --------------------------------------------------------------------------------------------------


def emit_hash(cg: CodeGen, call: ir.CallExtern) -> None:
    """``hash(out, algorithm, base, data, max)``: base + H mod max, in 64 bits; max 0 counts as 1."""
    b = cg.b
    out, algorithm, data = call.place(0), call.expr(1), call.arguments[3]
    value = emit_checksum(cg, algorithm, data, only_valid=call.name in VALID_LISTS)
    limit = call.expr(4)
    maximum = resize(b, expressions.value(cg, limit), 64, signed=is_signed(limit.type))
    maximum = b.select(b.icmp_unsigned("==", maximum, i64(0)), i64(1), maximum)
    rest = divide(b, ir.BinaryOp.MOD, value, maximum)
    base = call.expr(2)
    result = b.add(resize(b, expressions.value(cg, base), 64, signed=is_signed(base.type)), rest)
    expressions.assign(cg, out, resize(b, result, width_of(out.type)))


def emit_checksum16_get(cg: CodeGen, call: ir.CallExtern) -> None:
    out = call.place(0)
    algorithm = ir.Constant(Algorithm.CSUM16.value, ir.INDEX)
    value = emit_checksum(cg, algorithm, call.arguments[1], only_valid=False)
    expressions.assign(cg, out, resize(cg.b, value, width_of(out.type)))


def emit_verify(cg: CodeGen, call: ir.CallExtern) -> None:
    """Sets checksum_error unless the checksum is right, or its header is invalid, or the condition is false."""
    b = cg.b
    data, expected, algorithm = call.arguments[1], call.expr(2), call.expr(3)
    enabled = _is_enabled(cg, call.expr(0), expected)
    with b.if_then(enabled):
        value = emit_checksum(cg, algorithm, data, payload=call.name.endswith("_with_payload"), only_valid=True)
        width = max(64, width_of(expected.type))
        differs = b.icmp_unsigned("!=", resize(b, value, width), resize(b, expressions.value(cg, expected), width))
        error = standard("checksum_error")
        expressions.assign(cg, error, b.or_(expressions.value(cg, error), differs))


def _is_enabled(cg: CodeGen, condition: ir.Expr, expected: ir.Expr) -> Value:
    enabled = expressions.value(cg, condition)
    if isinstance(expected, ir.FieldRef) and isinstance(expected.header, ir.Header):
        enabled = cg.b.and_(enabled, cg.storage.valid(cg.b, expected.header))
    return enabled


def emit_update(cg: CodeGen, call: ir.CallExtern) -> None:
    data, target, algorithm = call.arguments[1], call.place(2), call.expr(3)
    owned = set(cg.storage.owned)
    with cg.b.if_then(expressions.value(cg, call.expr(0))):
        value = emit_checksum(cg, algorithm, data, payload=call.name.endswith("_with_payload"), only_valid=True)
        expressions.assign(cg, target, resize(cg.b, value, width_of(target.type)))
    cg.storage.owned = owned
