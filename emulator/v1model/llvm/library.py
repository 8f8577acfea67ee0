"""The run-time library: functions written as LLVM text. Linked into the programs that call them.

    i64 netsum_sum(ptr, i64 bytes)        sum of 16-bit words in memory's byte order; bytes a multiple of 64
    void netsum_append(ptr buffer, i64 position_bits, ptr source, i64 bits)
    netsum_admit, netsum_depart           packets in egress queues (``departures``)
    i64 netsum_{crc16,crc32,csum16,xor16,identity}(ptr, i64 bytes)

Parameters of the hashes: bmv2's (crc16: CRC-16/ARC; crc32: zlib's; csum16: RFC 1071).
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as binding
from llvmlite import ir as llvm

from emulator.p4.llvm.bits import I64, PTR, VOID
from emulator.v1model.llvm import departures
from emulator.v1model.metadata import Algorithm

SUM_BLOCK_BYTES = 64

FUNCTIONS = {
    Algorithm.CRC16: "netsum_crc16",
    Algorithm.CRC16_CUSTOM: "netsum_crc16",
    Algorithm.CRC32: "netsum_crc32",
    Algorithm.CRC32_CUSTOM: "netsum_crc32",
    Algorithm.CSUM16: "netsum_csum16",
    Algorithm.XOR16: "netsum_xor16",
    Algorithm.IDENTITY: "netsum_identity",
}

SIGNATURES = {
    "netsum_append": llvm.FunctionType(VOID, [PTR, I64, PTR, I64]),
    "netsum_admit": llvm.FunctionType(PTR, [PTR, PTR, I64, I64, I64]),
    "netsum_depart": llvm.FunctionType(PTR, [PTR, I64]),
    **{name: llvm.FunctionType(I64, [PTR, I64]) for name in {"netsum_sum", *FUNCTIONS.values()}},
}


def declare(module: llvm.Module, name: str) -> Any:
    """The library function, declared in the module on first use."""
    if name not in module.globals:
        llvm.Function(module, SIGNATURES[name], name)
    return module.globals[name]


def needed(module: llvm.Module) -> bool:
    return any(name in module.globals for name in SIGNATURES)


def reflected_table(polynomial: int, width_bits: int) -> list[int]:
    """CRC of each byte, least significant bit first; ``polynomial`` is the reversed one."""
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (polynomial if value & 1 else 0)
        table.append(value)
    assert all(v < 1 << width_bits for v in table)
    return table


def _table(name: str, polynomial: int) -> str:
    values = ", ".join(f"i64 {v}" for v in reflected_table(polynomial, 32))
    return f"@{name} = linkonce_odr hidden constant [256 x i64] [{values}]\n"


def _crc(name: str, table: str, initial: int, final: int) -> str:
    return f"""
define linkonce_odr hidden i64 @{name}(ptr %p, i64 %n) {{
entry:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i64 [0, %entry], [%i1, %loop]
  %crc = phi i64 [{initial}, %entry], [%crc1, %loop]
  %q = getelementptr i8, ptr %p, i64 %i
  %byte = load i8, ptr %q
  %wide = zext i8 %byte to i64
  %mixed = xor i64 %crc, %wide
  %index = and i64 %mixed, 255
  %slot = getelementptr [256 x i64], ptr @{table}, i64 0, i64 %index
  %entry_value = load i64, ptr %slot
  %shifted = lshr i64 %crc, 8
  %crc1 = xor i64 %shifted, %entry_value
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %loop, label %end
end:
  %result = phi i64 [{initial}, %entry], [%crc1, %loop]
  %inverted = xor i64 %result, {final}
  ret i64 %inverted
}}
"""


def _words(name: str, combine: str, finish: str) -> str:
    """A loop over big-endian 16-bit words; ``combine`` makes %acc1 of %acc and %value, ``finish`` %result of %acc2."""
    return f"""
define linkonce_odr hidden i64 @{name}(ptr %p, i64 %n) {{
entry:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i64 [0, %entry], [%i1, %loop]
  %acc = phi i64 [0, %entry], [%acc1, %loop]
  %q = getelementptr i8, ptr %p, i64 %i
  %byte = load i8, ptr %q
  %wide = zext i8 %byte to i64
  %odd = and i64 %i, 1
  %is_odd = icmp eq i64 %odd, 1
  %amount = select i1 %is_odd, i64 0, i64 8
  %value = shl i64 %wide, %amount
  {combine}
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %loop, label %end
end:
  %acc2 = phi i64 [0, %entry], [%acc1, %loop]
  {finish}
  ret i64 %result
}}
"""


FOLD = """
  %l1 = and i64 %acc2, 65535
  %h1 = lshr i64 %acc2, 16
  %s1 = add i64 %l1, %h1
  %l2 = and i64 %s1, 65535
  %h2 = lshr i64 %s1, 16
  %s2 = add i64 %l2, %h2
  %l3 = and i64 %s2, 65535
  %h3 = lshr i64 %s2, 16
  %s3 = add i64 %l3, %h3
  %result = xor i64 %s3, 65535
"""

SUM = """
define linkonce_odr hidden i64 @netsum_sum(ptr %p, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%i1, %loop]
  %low = phi <16 x i32> [zeroinitializer, %entry], [%low1, %loop]
  %high = phi <16 x i32> [zeroinitializer, %entry], [%high1, %loop]
  %q = getelementptr i8, ptr %p, i64 %i
  %words = load <16 x i32>, ptr %q, align 1
  %l = and <16 x i32> %words, splat (i32 65535)
  %h = lshr <16 x i32> %words, splat (i32 16)
  %low1 = add <16 x i32> %low, %l
  %high1 = add <16 x i32> %high, %h
  %i1 = add i64 %i, 64
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %loop, label %end
end:
  %lw = zext <16 x i32> %low1 to <16 x i64>
  %hw = zext <16 x i32> %high1 to <16 x i64>
  %both = add <16 x i64> %lw, %hw
  %sum = call i64 @llvm.vector.reduce.add.v16i64(<16 x i64> %both)
  ret i64 %sum
}
declare i64 @llvm.vector.reduce.add.v16i64(<16 x i64>)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

APPEND = """
define linkonce_odr hidden void @netsum_append(ptr %buffer, i64 %position, ptr %source, i64 %bits) {
entry:
  %either = or i64 %position, %bits
  %rest = and i64 %either, 7
  %whole = icmp eq i64 %rest, 0
  br i1 %whole, label %bytes, label %loop
bytes:
  %at = lshr i64 %position, 3
  %count = lshr i64 %bits, 3
  %to = getelementptr i8, ptr %buffer, i64 %at
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %source, i64 %count, i1 false)
  ret void
loop:
  %i = phi i64 [0, %entry], [%i1, %loop]
  %from_byte = lshr i64 %i, 3
  %from_bit = and i64 %i, 7
  %q = getelementptr i8, ptr %source, i64 %from_byte
  %byte = load i8, ptr %q
  %wide = zext i8 %byte to i64
  %up = shl i64 %wide, %from_bit
  %bit8 = and i64 %up, 128
  %here = add i64 %position, %i
  %to_byte = lshr i64 %here, 3
  %to_bit = and i64 %here, 7
  %t = getelementptr i8, ptr %buffer, i64 %to_byte
  %old8 = load i8, ptr %t
  %old = zext i8 %old8 to i64
  %fresh = icmp eq i64 %to_bit, 0
  %kept = select i1 %fresh, i64 0, i64 %old
  %bit = lshr i64 %bit8, %to_bit
  %new = or i64 %kept, %bit
  %new8 = trunc i64 %new to i8
  store i8 %new8, ptr %t
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %bits
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""

IDENTITY = """
define linkonce_odr hidden i64 @netsum_identity(ptr %p, i64 %n) {
entry:
  %long = icmp ugt i64 %n, 8
  %m = select i1 %long, i64 8, i64 %n
  %none = icmp eq i64 %m, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i64 [0, %entry], [%i1, %loop]
  %acc = phi i64 [0, %entry], [%acc1, %loop]
  %q = getelementptr i8, ptr %p, i64 %i
  %byte = load i8, ptr %q
  %wide = zext i8 %byte to i64
  %up = shl i64 %acc, 8
  %acc1 = or i64 %up, %wide
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %m
  br i1 %more, label %loop, label %end
end:
  %result = phi i64 [0, %entry], [%acc1, %loop]
  ret i64 %result
}
"""


def text() -> str:
    """The library as an LLVM module."""
    return "".join(
        [
            _table("netsum_crc16_table", 0xA001),
            _table("netsum_crc32_table", 0xEDB88320),
            _crc("netsum_crc16", "netsum_crc16_table", 0, 0),
            _crc("netsum_crc32", "netsum_crc32_table", 0xFFFFFFFF, 0xFFFFFFFF),
            _words("netsum_csum16", "%acc1 = add i64 %acc, %value", FOLD),
            _words("netsum_xor16", "%acc1 = xor i64 %acc, %value", "%result = add i64 %acc2, 0"),
            SUM,
            APPEND,
            IDENTITY,
            departures.TEXT,
        ]
    )


def link(program_text: str) -> str:
    """The program's module with the library's in it."""
    program = binding.parse_assembly(program_text)
    program.link_in(binding.parse_assembly(text()))
    return str(program)
