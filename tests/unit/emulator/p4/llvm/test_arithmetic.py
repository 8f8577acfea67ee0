"""Each operator at the widths where something could go wrong: interpreter, machine code and plain Python agree."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from emulator.p4 import ir
from tests.programs.p4_programs import HandMade, Rig, binary, header_type, make_program, ref, run_both, send_to

Op = ir.BinaryOp
WIDTHS = (1, 7, 8, 9, 31, 32, 33, 48, 64, 65, 127, 128, 129, 257, 1000, 2048, 2056)


def padding(width: int) -> tuple[tuple[str, int], ...]:
    return (("pad", -width % 8),) if width % 8 else ()


def reduce(value: int, width: int, *, signed: bool) -> int:
    value %= 1 << width
    return value - (1 << width) if signed and value >= 1 << (width - 1) else value


def clamp(value: int, width: int, *, signed: bool) -> int:
    low = -(1 << (width - 1)) if signed else 0
    high = (1 << (width - signed)) - 1
    return max(low, min(high, value))


PLAIN: dict[Op, Callable[[int, int, int, bool], int]] = {
    Op.ADD: lambda a, b, w, s: a + b,
    Op.SUB: lambda a, b, w, s: a - b,
    Op.MUL: lambda a, b, w, s: a * b,
    Op.ADD_SAT: lambda a, b, w, s: clamp(a + b, w, signed=s),
    Op.SUB_SAT: lambda a, b, w, s: clamp(a - b, w, signed=s),
    Op.AND: lambda a, b, w, s: a & b,
    Op.OR: lambda a, b, w, s: a | b,
    Op.XOR: lambda a, b, w, s: a ^ b,
    Op.DIV: lambda a, b, w, s: a // b if b else 0,
    Op.MOD: lambda a, b, w, s: a % b if b else 0,
    Op.EQ: lambda a, b, w, s: a == b,
    Op.NE: lambda a, b, w, s: a != b,
    Op.LT: lambda a, b, w, s: a < b,
    Op.LE: lambda a, b, w, s: a <= b,
    Op.GT: lambda a, b, w, s: a > b,
    Op.GE: lambda a, b, w, s: a >= b,
}
SHIFTS: dict[Op, Callable[[int, int], int]] = {Op.SHL: lambda a, n: a << n, Op.SHR: lambda a, n: a >> n}


def interesting(width: int) -> list[int]:
    source = random.Random(width)
    top = 1 << (width - 1)
    edges = [0, 1, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, width, width - 1]
    return [v % (1 << width) for v in edges] + [source.getrandbits(width) for _ in range(7)]


def operator_program(width: int, *, signed: bool) -> tuple[ir.Program, list[Op]]:
    """Header in: a, b of the type, n unsigned. Header out: one byte-padded result for each operator."""
    kind = ir.Bits(width, signed)
    pairs = ir.Header("hdr.pair", header_type("pair_t", ("a", kind), ("b", kind), ("n", 16), *padding(2 * width)))
    ops = [op for op in PLAIN if not (signed and op in (Op.DIV, Op.MOD))] + list(SHIFTS)
    fields: list[tuple[str, ir.Type]] = []
    for op in ops:
        result = ir.BOOL if op in COMPARISONS else kind
        fields += [(f"p{op.name}", ir.Bits(8 - (1 if op in COMPARISONS else width) % 8)), (op.name, result)]
    results = ir.Header("hdr.results", header_type("results_t", *fields))
    a, b, n = (ref(pairs, name) for name in "abn")
    body: list[ir.Statement] = [send_to(1), ir.SetValidity(results, True), ir.SetValidity(pairs, False)]
    for op in ops:
        body.append(ir.Assign(ref(results, op.name), binary(op, a, n if op in SHIFTS else b)))
    kept = make_program(
        [pairs, results], body, parser=ir.Parser("P", (ir.State("start", (ir.Extract(pairs),), ir.Goto("accept")),))
    )
    return kept, ops


COMPARISONS = {Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE}


def expected(op: Op, a: int, b: int, n: int, width: int, *, signed: bool) -> tuple[int, int]:
    """(bits, width) of the result."""
    if op in SHIFTS:
        return SHIFTS[op](a, min(n, width)) % (1 << width), width
    value = PLAIN[op](a, b, width, signed)
    return (int(value), 1) if op in COMPARISONS else (value % (1 << width), width)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_operators(width: int, signed: bool) -> None:
    program, ops = operator_program(width, signed=signed)
    values = interesting(width)
    cases = [
        (a, b, n) for i, a in enumerate(values) for b in values[i % 3 :: 3] for n in (0, 1, width - 1, width, 65535)
    ]
    frames = []
    for a, b, n in cases:
        total = (a << width | b) << 16 | n
        frames.append((total << (-2 * width % 8)).to_bytes((2 * width + 16 + 7) // 8, "big"))
    frames, cases = frames[:240], cases[:240]
    result = run_both(program, frames, cells=256, stride_bytes=8192)
    for (a, b, n), frame in zip(cases, result.frames[0][1], strict=True):
        wanted = b""
        for op in ops:
            x, y = reduce(a, width, signed=signed), reduce(b, width, signed=signed)
            value, bits_ = expected(op, x, y, n, width, signed=signed)
            wanted += value.to_bytes((bits_ + 8 - bits_ % 8) // 8, "big")
        assert frame == wanted, (a, b, n)


def unary_program(width: int) -> ir.Program:
    """Casts, slices, concatenations, negation, complement, choice."""
    unsigned, signed = ir.Bits(width), ir.Bits(width, True)
    head = ir.Header("hdr.a", header_type("a_t", *padding(width), ("a", width)))
    a = ref(head, "a")
    wide = width + 7 - (width + 6) % 8 + 8
    extended = ir.Cast(ir.Cast(a, signed), ir.Bits(wide, True))
    outs: list[ir.Expr] = [
        ir.Unary(ir.UnaryOp.NEGATE, a, unsigned),
        ir.Unary(ir.UnaryOp.COMPLEMENT, a, unsigned),
        ir.Cast(extended, ir.Bits(wide)),
        ir.Slice(a, width - 1, width // 2),
        ir.Slice(a, width // 2, 0),
        ir.Concat(a, ir.Slice(a, 0, 0), ir.Bits(width + 1)),
        ir.Mux(binary(Op.GT, a, ir.Constant(1, unsigned)), a, ir.Constant(0, unsigned), unsigned) if width > 1 else a,
    ]
    fields: list[tuple[str, int]] = []
    for i, out in enumerate(outs):
        assert isinstance(out.type, ir.Bits)
        fields += [
            *(((f"pad{i}", -out.type.width_bits % 8),) if out.type.width_bits % 8 else ()),
            (f"o{i}", out.type.width_bits),
        ]
    results = ir.Header("hdr.o", header_type("o_t", *fields))
    body: list[ir.Statement] = [send_to(1), ir.SetValidity(results, True), ir.SetValidity(head, False)]
    body += [ir.Assign(ref(results, f"o{i}"), out) for i, out in enumerate(outs)]
    parser = ir.Parser("P", (ir.State("start", (ir.Extract(head),), ir.Goto("accept")),))
    return make_program([head, results], body, parser=parser)


@pytest.mark.parametrize("width", WIDTHS)
def test_casts_and_slices(width: int) -> None:
    size = (width + 7) // 8
    wide = width + 7 - (width + 6) % 8 + 8
    values = interesting(width)
    result = run_both(unary_program(width), [v.to_bytes(size, "big") for v in values], stride_bytes=4096)
    for v, frame in zip(values, result.frames[0][1], strict=True):
        half = width // 2
        parts = [
            (-v % (1 << width), width),
            (~v % (1 << width), width),
            (reduce(v, width, signed=True) % (1 << wide), wide),
            (v >> half, width - half),
            (v & ((1 << (half + 1)) - 1), half + 1),
            (v << 1 | v & 1, width + 1),
            (v if v > 1 or width == 1 else 0, width),
        ]
        assert frame == b"".join(x.to_bytes((w + 7) // 8, "big") for x, w in parts)


def test_engine_by_name() -> None:
    program, _ = operator_program(8, signed=False)
    with pytest.raises(ValueError, match="choose one of llvm, interpreter"):
        Rig(program, "jit")
    assert HandMade(program).p4info is None
