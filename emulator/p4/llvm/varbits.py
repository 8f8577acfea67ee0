"""Fields of variable width: their bits come first in the field's full width, and a slot holds how many count.

Such headers always live in memory. Where the field begins and its full width are whole bytes (then so is every width
an extract gives it) bytes are copied, else bits.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from emulator.p4 import ir
from emulator.p4.llvm.bits import I1, I8, I64, PTR, VOID, Value, at, constant, copy_bytes, i64, resize
from emulator.p4.llvm.context import CodeGen


def field_of(header: ir.Header) -> ir.HeaderField:
    field = header.type.varbit
    assert field is not None
    return field


def _is_bytes(field: ir.HeaderField) -> bool:
    return field.offset_bits % 8 == 0 and field.width_bits % 8 == 0


def fixed_bits(kind: ir.HeaderType) -> int:
    """Bits of a header's other fields."""
    return kind.length_bits - (kind.varbit.width_bits if kind.varbit is not None else 0)


def wire_bytes(cg: CodeGen, header: ir.Header) -> Value:
    """Bytes that the header would take on the wire now, i64."""
    if header.type.varbit is None:
        return i64(header.type.length_bits // 8)
    bits = cg.b.add(i64(fixed_bits(header.type)), resize(cg.b, cg.storage.width(cg.b, header), 64))
    return cg.b.lshr(cg.b.add(bits, i64(7)), i64(3))


# --- What parser, deparser and assignments do ---------------------------------------------------------------------


def unpack(cg: CodeGen, header: ir.Header, source: Value, width: Value) -> None:
    """Take the header from the wire: all fields, the variable one with ``width`` bits (i64, in range)."""
    b, field = cg.b, field_of(header)
    home = cg.storage.adopt(b, header)
    end = field.offset_bits + field.width_bits
    _copy(cg, field, home, 0, source, i64(0), b.add(i64(field.offset_bits), width))
    after = b.add(i64(field.offset_bits), width)
    _copy(cg, field, home, end, source, after, i64(header.type.length_bits - end))
    cg.storage.set_width(b, header, resize(b, width, 32))


def pack(cg: CodeGen, header: ir.Header, target: Value) -> None:
    """Write the header as it goes on the wire: `wire_bytes` bytes, zeros after an odd last bit."""
    b, field = cg.b, field_of(header)
    base, width = cg.storage.base(b, header), resize(b, cg.storage.width(b, header), 64)
    end = field.offset_bits + field.width_bits
    after = b.add(i64(field.offset_bits), width)
    if not _is_bytes(field):
        last = b.sub(wire_bytes(cg, header), i64(1))
        with b.if_then(b.icmp_signed(">=", last, i64(0))):
            b.store(constant(0, 8), at(b, target, last))
    _copy(cg, field, target, 0, base, i64(0), after)
    _copy(cg, field, target, after, base, i64(end), i64(header.type.length_bits - end))


def _copy(
    cg: CodeGen, field: ir.HeaderField, target: Value, to: int | Value, source: Value, start: Value, n: Value
) -> None:
    """``n`` bits from bit ``start`` of the source to bit ``to`` of the target, which don't overlap."""
    b = cg.b
    first = i64(to) if isinstance(to, int) else to
    if _is_bytes(field):
        three = i64(3)
        copy_bytes(b, at(b, target, b.lshr(first, three)), at(b, source, b.lshr(start, three)), b.lshr(n, three))
    else:
        b.call(_copy_function(b.module), [target, first, source, start, n])


def assign(cg: CodeGen, target: ir.Header, source: ir.Header) -> None:
    """The field of one header to that of another, of the same largest width."""
    if target.name == source.name:
        return
    b, to, origin = cg.b, field_of(target), field_of(source)
    width = cg.storage.width(b, source)
    base = cg.storage.base(b, source)
    home = cg.storage.own(b, target)
    n = resize(b, width, 64)
    if _is_bytes(to) and _is_bytes(origin):
        copy_bytes(b, at(b, home, to.offset_bits // 8), at(b, base, origin.offset_bits // 8), b.lshr(n, i64(3)))
    else:
        b.call(_copy_function(b.module), [home, i64(to.offset_bits), base, i64(origin.offset_bits), n])
    cg.storage.set_width(b, target, width)


def equal(cg: CodeGen, left: ir.Header, right: ir.Header) -> Value:
    """The same width and the same bits."""
    b = cg.b
    widths = cg.storage.width(b, left), cg.storage.width(b, right)
    bits = b.call(
        _equal_function(b.module),
        [
            cg.storage.base(b, left),
            i64(field_of(left).offset_bits),
            cg.storage.base(b, right),
            i64(field_of(right).offset_bits),
            resize(b, b.select(b.icmp_unsigned("<", *widths), *widths), 64),
        ],
    )
    return b.and_(b.icmp_unsigned("==", *widths), bits)


def content(cg: CodeGen, header: ir.Header) -> tuple[Value, Value]:
    """(address of the field's first bit, at the top of a byte; how many bits, i64): for externs that take lists."""
    b, field = cg.b, field_of(header)
    base, width = cg.storage.base(b, header), resize(b, cg.storage.width(b, header), 64)
    if field.offset_bits % 8 == 0:
        return at(b, base, field.offset_bits // 8), width
    size = -(-field.width_bits // 8)
    copy = cg.storage.slot(f"$varbits{size}", llvm.ArrayType(I8, size))
    b.call(_copy_function(b.module), [copy, i64(0), base, i64(field.offset_bits), width])
    return copy, width


# --- Bits one by one ----------------------------------------------------------------------------------------------


def _bit_loop(module: llvm.Module, name: str, result: Any) -> tuple[Any, Any, Any, Any, Any]:
    """A function (ptr, i64, ptr, i64, i64 n) with a loop over n bits: (function, builder in the loop's body, index,
    block to go on in, block after the last)."""
    function = llvm.Function(module, llvm.FunctionType(result, [PTR, I64, PTR, I64, I64]), name)
    function.linkage = "internal"
    entry, head, body, following, end = (
        function.append_basic_block(n) for n in ("entry", "head", "body", "next", "end")
    )
    llvm.IRBuilder(entry).branch(head)
    b = llvm.IRBuilder(head)
    index = b.phi(I64)
    b.cbranch(b.icmp_unsigned("<", index, function.args[4]), body, end)
    b = llvm.IRBuilder(following)
    index.add_incoming(i64(0), entry)
    index.add_incoming(b.add(index, i64(1)), following)
    b.branch(head)
    return function, llvm.IRBuilder(body), index, following, end


def _bit_at(b: Any, pointer: Value, position: Value) -> tuple[Value, Value, Value]:
    """(address of the byte, its value, distance of the bit from the byte's lowest)."""
    address = at(b, pointer, b.lshr(position, i64(3)))
    below = b.xor(b.trunc(b.and_(position, i64(7)), I8), constant(7, 8))
    return address, b.load(address, typ=I8), below


def _copy_function(module: llvm.Module) -> Value:
    """``void copy_bits(ptr target, i64 to, ptr source, i64 from, i64 n)``: writes n bits and nothing else."""
    if "copy_bits" in module.globals:
        return module.globals["copy_bits"]
    function, b, index, following, end = _bit_loop(module, "copy_bits", VOID)
    target, to, source, start, _ = function.args
    _, byte, below = _bit_at(b, source, b.add(start, index))
    bit = b.and_(b.lshr(byte, below), constant(1, 8))
    address, old, below = _bit_at(b, target, b.add(to, index))
    kept = b.and_(old, b.xor(b.shl(constant(1, 8), below), constant(0xFF, 8)))
    b.store(b.or_(kept, b.shl(bit, below)), address)
    b.branch(following)
    llvm.IRBuilder(end).ret_void()
    return function


def _equal_function(module: llvm.Module) -> Value:
    """``i1 equal_bits(ptr, i64 from, ptr, i64 from, i64 n)``."""
    if "equal_bits" in module.globals:
        return module.globals["equal_bits"]
    function, b, index, following, end = _bit_loop(module, "equal_bits", I1)
    left, left_start, right, right_start, _ = function.args
    bits = []
    for pointer, start in ((left, left_start), (right, right_start)):
        _, byte, below = _bit_at(b, pointer, b.add(start, index))
        bits.append(b.and_(b.lshr(byte, below), constant(1, 8)))
    differ = function.append_basic_block("differ")
    b.cbranch(b.icmp_unsigned("==", *bits), following, differ)
    llvm.IRBuilder(differ).ret(constant(0, 1))
    llvm.IRBuilder(end).ret(constant(1, 1))
    return function
