"""Fields of variable width on both engines: the three errors of their extract, copies, comparison, lists, deparser."""

from __future__ import annotations

import zlib

import pytest

from emulator.p4 import ir
from emulator.v1model.metadata import standard
from tests.programs.p4_programs import binary, const, header_type, make_program, ref, run_both, send_to, var

OPTIONS = ir.VarBits(40)
HEAD = ir.Header("hdr.head", header_type("head_t", ("bits", 8), ("mode", 8)))
KIND = header_type("options_t", ("before", 16), ("options", OPTIONS), ("after", 8))
ODD = header_type("odd_t", ("before", 3), ("options", OPTIONS), ("after", 5))
KEPT = ir.Variable("kept", OPTIONS)
CODE = ir.Header("hdr.code", header_type("code_t", ("error", 8), ("crc", 32)))


def options_program(kind: ir.HeaderType, body: list[ir.Statement]) -> tuple[ir.Program, ir.Header, ir.Header]:
    """Frame: {bits, mode} then options of so many bits; the answer: {parser's error, crc}, the headers, payload."""
    first, second = ir.Header("hdr.first", kind), ir.Header("hdr.second", kind)
    bits = ir.Cast(ref(HEAD, "bits"), ir.INDEX)
    parser = ir.Parser("P", (ir.State("start", (ir.Extract(HEAD), ir.Extract(first, bits)), ir.Goto("accept")),))
    crc = var("crc", 32)
    items = (ref(first, "before"), ref(first, "options"), KEPT, const(0, 8))
    start: list[ir.Statement] = [
        send_to(1),
        ir.SetValidity(CODE, True),
        ir.Assign(ref(CODE, "error"), ir.Slice(standard("parser_error"), 7, 0)),
    ]
    end: list[ir.Statement] = [
        ir.CallExtern("hash", (crc, const(0, 32), const(0, 32), items, const(1 << 32, 64))),
        ir.Assign(ref(CODE, "crc"), crc),
    ]
    emits = [ir.Emit(h) for h in (CODE, HEAD, first, second)]
    program = make_program(
        [HEAD, first, second, CODE], [*start, *body, *end], parser=parser, variables=[KEPT, crc], deparser=emits
    )
    return program, first, second


def answers(program: ir.Program, *frames: bytes) -> list[bytes]:
    return run_both(program, frames).frames[0][1]


@pytest.mark.parametrize(
    ("bits", "content", "error"),
    [
        (0, b"\x11\x22\x33", 0),
        (16, b"\x11\x22\xaa\xbb\x33", 0),
        (40, b"\x11\x22abcde\x33", 0),
        (12, b"\x11\x22abcde\x33", 6),  # ParserInvalidArgument: no whole bytes
        (250, b"", 6),  # that first
        (48, b"\x11\x22abcdef\x33", 4),  # HeaderTooShort
        (48, b"\x11\x22abcdef", 1),  # PacketTooShort before that
        (24, b"\x11\x22ab\x33", 1),
    ],
)
def test_extract(bits: int, content: bytes, error: int) -> None:
    program, _, _ = options_program(KIND, [])
    frame = bytes([bits, 0]) + content + b"payload"[: 0 if error == 1 else None]
    (answer,) = answers(program, frame)
    assert answer[0] == error
    assert answer[5:] == frame, "a header that isn't taken is payload"


def test_lists_take_as_many_bits_as_there_are() -> None:
    program, first, _ = options_program(KIND, [])
    keep = ir.Assign(KEPT, ref(ir.Header("hdr.first", KIND), "options"))
    kept, _, _ = options_program(KIND, [keep])
    content = b"\x11\x22\xaa\xbb\xcc"
    frame = bytes([24, 0]) + content + b"\x33"
    assert answers(program, frame)[0][1:5] == zlib.crc32(content + b"\0").to_bytes(4, "big")
    assert answers(kept, frame)[0][1:5] == zlib.crc32(content + content[2:] + b"\0").to_bytes(4, "big")
    assert first.type.varbit is not None


@pytest.mark.parametrize("kind", [KIND, ODD], ids=["bytes", "odd"])
def test_copies_and_comparison(kind: ir.HeaderType) -> None:
    first, second = ir.Header("hdr.first", kind), ir.Header("hdr.second", kind)
    same = binary(ir.BinaryOp.EQ, ref(first, "options"), ref(second, "options"))
    mode = ref(HEAD, "mode")
    body: list[ir.Statement] = [
        ir.SetValidity(second, True),
        ir.If(binary(ir.BinaryOp.EQ, mode, const(1, 8)), (ir.CopyHeader(second, first),)),
        ir.If(
            binary(ir.BinaryOp.EQ, mode, const(2, 8)),
            (ir.Assign(KEPT, ref(first, "options")), ir.Assign(ref(second, "options"), KEPT)),
        ),
        ir.Assign(mode, ir.Cast(ir.Cast(same, ir.Bits(1)), ir.Bits(8))),
    ]
    program, _, _ = options_program(kind, body)
    taken = b"\x11\x22\xaa\xbb\x33" if kind is KIND else b"\x51\x22\x33"
    fixed = b"\0\0\0" if kind is KIND else b"\0"
    results = [a[5:] for a in answers(program, *(bytes([16, mode]) + taken for mode in range(3)))]
    assert results[0] == b"\x10\0" + taken + fixed
    assert results[1] == b"\x10\1" + taken + taken
    assert results[2][:2] == b"\x10\1"
    middle = b"\xaa\xbb" if kind is KIND else None
    if middle:
        assert results[2] == b"\x10\1" + taken + b"\0\0\xaa\xbb\0"
    else:
        options = int.from_bytes(taken, "big") >> 5 & 0xFFFF
        assert results[2] == b"\x10\1" + taken + (options << 5).to_bytes(3, "big")


def test_a_header_made_valid_has_no_variable_bits() -> None:
    first = ir.Header("hdr.first", KIND)
    body: list[ir.Statement] = [ir.SetValidity(first, False), ir.SetValidity(first, True)]
    program, _, _ = options_program(KIND, body)
    assert answers(program, b"\x10\0\x11\x22\xaa\xbb\x33rest")[0][5:] == b"\x10\0\0\0\0rest"
