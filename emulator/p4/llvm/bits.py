"""Bits in memory and in LLVM integers: the wire is big-endian and bit-packed, the machine is neither.

Every helper takes the builder first. Pointers are opaque; offsets are constants unless they say otherwise.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from llvmlite import ir

Builder: TypeAlias = Any
Value: TypeAlias = Any

I1 = ir.IntType(1)
I8 = ir.IntType(8)
I16 = ir.IntType(16)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
PTR = ir.PointerType()
VOID = ir.VoidType()


def integer(width_bits: int, lanes: int | None = None) -> Any:
    """LLVM's type for a value of that width, or for a vector of ``lanes`` of them."""
    scalar = ir.IntType(width_bits)
    return scalar if lanes is None else ir.VectorType(scalar, lanes)


def i64(value: int) -> Value:
    return ir.Constant(I64, value)


def constant(value: int, width_bits: int, lanes: int | None = None) -> Value:
    """The value's low bits; in every lane of a vector."""
    value &= (1 << width_bits) - 1
    scalar = ir.IntType(width_bits)
    return ir.Constant(scalar, value) if lanes is None else ir.Constant(ir.VectorType(scalar, lanes), [value] * lanes)


def splat(b: Builder, value: Value, lanes: int | None) -> Value:
    """One scalar in every lane."""
    if lanes is None:
        return value
    vector = ir.VectorType(value.type, lanes)
    first = b.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(I32, 0))
    zeros = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
    return b.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


def at(b: Builder, pointer: Value, offset: int | Value) -> Value:
    """``pointer + offset`` bytes."""
    if isinstance(offset, int):
        if offset == 0:
            return pointer
        offset = i64(offset)
    return b.gep(pointer, [offset], source_etype=I8)


def load(b: Builder, kind: Any, pointer: Value, offset: int | Value = 0, align: int = 1) -> Value:
    return b.load(at(b, pointer, offset), typ=kind, align=align)


def store(b: Builder, value: Value, pointer: Value, offset: int | Value = 0, align: int = 1) -> None:
    b.store(value, at(b, pointer, offset), align=align)


def prefetch(b: Builder, pointer: Value) -> None:
    """Prefetch the cache line for reading; any address is allowed."""
    name = "llvm.prefetch.p0"
    if name not in b.module.globals:
        ir.Function(b.module, ir.FunctionType(VOID, [PTR, I32, I32, I32]), name)
    b.call(b.module.globals[name], [pointer, constant(0, 32), constant(3, 32), constant(1, 32)])


def resize(b: Builder, value: Value, width_bits: int, *, signed: bool = False) -> Value:
    """Truncate, or extend by zeros or by the sign; works on vectors lane by lane."""
    lanes = value.type.count if isinstance(value.type, ir.VectorType) else None
    here = value.type.element.width if lanes is not None else value.type.width
    target = integer(width_bits, lanes)
    if here == width_bits:
        return value
    if here > width_bits:
        return b.trunc(value, target)
    return b.sext(value, target) if signed else b.zext(value, target)


def _bswap(b: Builder, value: Value, width: int, lanes: int | None) -> Value:
    """LLVM's intrinsic; llvmlite's own wrapper takes no vectors."""
    if lanes is None:
        return b.bswap(value)
    name = f"llvm.bswap.v{lanes}i{width}"
    if name not in b.module.globals:
        ir.Function(b.module, ir.FunctionType(value.type, [value.type]), name)
    return b.call(b.module.globals[name], [value])


def swap_bytes(b: Builder, value: Value) -> Value:
    """Reverse the bytes of an integer (or of each lane) of a whole number of bytes. LLVM's own needs an even number."""
    lanes = value.type.count if isinstance(value.type, ir.VectorType) else None
    width = value.type.element.width if lanes is not None else value.type.width
    if width == 8:
        return value
    if width % 16 == 0:
        return _bswap(b, value, width, lanes)
    wide = _bswap(b, b.zext(value, integer(width + 8, lanes)), width + 8, lanes)
    return b.trunc(b.lshr(wide, constant(8, width + 8, lanes)), integer(width, lanes))


def _cover(offset_bits: int, width_bits: int) -> tuple[int, int, int]:
    """First byte, number of bytes, and bits to the right of the field in them."""
    first = offset_bits // 8
    size = (offset_bits + width_bits + 7) // 8 - first
    return first, size, (first + size) * 8 - offset_bits - width_bits


def load_field(b: Builder, base: Value, offset_bits: int, width_bits: int) -> Value:
    """The field of a header at ``base``, reading no byte that the field does not touch."""
    first, size, right = _cover(offset_bits, width_bits)
    value = swap_bytes(b, load(b, ir.IntType(size * 8), base, first))
    if right:
        value = b.lshr(value, constant(right, size * 8))
    return resize(b, value, width_bits)


def store_field(b: Builder, value: Value, base: Value, offset_bits: int, width_bits: int) -> None:
    """Write the field and leave its neighbours' bits in the same bytes as they are."""
    first, size, right = _cover(offset_bits, width_bits)
    total = size * 8
    wide = resize(b, value, total)
    if total != width_bits:
        kept = ~(((1 << width_bits) - 1) << right)
        old = swap_bytes(b, load(b, ir.IntType(total), base, first))
        wide = b.or_(b.and_(old, constant(kept, total)), b.shl(wide, constant(right, total)))
    store(b, swap_bytes(b, wide), base, first)


def copy_bytes(b: Builder, target: Value, source: Value, length: int | Value) -> None:
    """``memcpy``; LLVM makes loads and stores of short constant lengths."""
    if isinstance(length, int):
        length = i64(length)
    memcpy = b.module.declare_intrinsic("llvm.memcpy", [PTR, PTR, I64], ir.FunctionType(VOID, [PTR, PTR, I64, I1]))
    b.call(memcpy, [target, source, length, ir.Constant(I1, 0)])
