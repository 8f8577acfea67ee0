"""The IR's specification refuses what breaks it, and says where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.p4 import ir
from emulator.p4.ir.verify import VerifyError, verify
from emulator.v1model.target import V1MODEL_TARGET
from tests.programs.lane_program import lane_program
from tests.programs.p4_programs import binary, const, header_type, make_program, ref, register, send_to, var, write

Op = ir.BinaryOp
BYTE = ir.Header("hdr.h", header_type("h_t", ("x", 8)))
V = var("v", 8)
CELLS = register("r", 8, 4)


def ingress(*body: ir.Statement) -> ir.Program:
    return make_program([BYTE], (*body, send_to(1)), variables=[V], externs=[CELLS])


SIGNED = ir.Constant(1, ir.Bits(8, True))
BAD_STATEMENTS: dict[str, tuple[ir.Statement, str]] = {
    "other width": (ir.Assign(V, const(1, 9)), "bit<9> assigned to bit<8>"),
    "other sign": (ir.Assign(V, SIGNED), "int<8> assigned to bit<8>"),
    "unknown variable": (ir.Assign(var("w", 8), V), "no variable w"),
    "variable of another type": (ir.Assign(var("v", 9), const(1, 9)), "v is not bit<9>"),
    "unknown header": (ir.SetValidity(ir.Header("hdr.x", BYTE.type), True), "no header hdr.x"),
    "constant out of range": (ir.Assign(V, const(256, 8)), "256 is not in bit<8>"),
    "condition": (ir.If(V, ()), "a condition is bit<8>"),
    "operands differ": (ir.Assign(V, ir.Binary(Op.ADD, V, const(1, 9), ir.Bits(8))), "gives bit<8>"),
    "signed division": (ir.If(ir.Binary(Op.EQ, binary(Op.DIV, SIGNED, SIGNED), SIGNED, ir.BOOL), ()), "/ int<8>"),
    "comparison without bool": (ir.Assign(V, ir.Binary(Op.LT, V, V, ir.Bits(8))), "gives bit<8>"),
    "slice": (ir.Assign(V, ir.Slice(V, 8, 1)), r"\[8:1\] of bit<8>"),
    "concatenation": (ir.Assign(V, ir.Concat(V, V, ir.Bits(8))), "is not bit<8>"),
    "cast to bool": (ir.If(ir.Cast(V, ir.BOOL), ()), "cast of bit<8> to bool"),
    "arms differ": (ir.Assign(V, ir.Mux(ir.IsValid(BYTE), V, SIGNED, V.type)), "differ in type"),
    "extract in a control": (ir.Extract(BYTE), "Extract outside a parser"),
    "no such table": (ir.ApplyTable("t"), "no table t"),
    "no such register": (write(register("q", 8, 4), const(0, 32), V), "no extern instance q"),
    "out argument": (ir.CallExtern("register.read", (const(0, 8), const(0, 32)), CELLS), "must be a place"),
    "two cases": (ir.Switch(V, (ir.SwitchCase((1,), ()), ir.SwitchCase((1,), ()))), "two cases of one value"),
    "if in a repeat": (ir.Repeat(4, (ir.If(ir.IsValid(BYTE), ()),)), "If in a Repeat"),
    "one register in a repeat": (ir.Repeat(4, (write(CELLS, const(0, 32), V),)), "one instance for all turns"),
}


@pytest.mark.parametrize("name", list(BAD_STATEMENTS))
def test_bad_statements(name: str) -> None:
    statement, message = BAD_STATEMENTS[name]
    with pytest.raises(VerifyError, match=f"ig: .*{message}|{message}"):
        verify(ingress(statement), V1MODEL_TARGET)
    with pytest.raises(VerifyError):
        verify(ingress(ir.If(ir.IsValid(BYTE), (ir.Region("r", (), (statement,)),))), V1MODEL_TARGET)


def test_good_programs() -> None:
    verify(ingress(ir.Assign(V, ref(BYTE, "x"))), V1MODEL_TARGET)
    verify(lane_program(8), V1MODEL_TARGET)


def test_headers_are_whole_bytes_without_gaps() -> None:
    odd = ir.Header("hdr.o", header_type("o_t", ("x", 7)))
    with pytest.raises(VerifyError, match="7 bits are not a whole number of bytes"):
        verify(make_program([odd], ()), V1MODEL_TARGET)
    gap = ir.Header("hdr.g", ir.HeaderType("g_t", (ir.HeaderField("x", 8, ir.Bits(8)),)))
    with pytest.raises(VerifyError, match="leaves a gap"):
        verify(make_program([gap], ()), V1MODEL_TARGET)


def test_parsers_and_tables() -> None:
    lost = ir.Parser("P", (ir.State("start", (), ir.Goto("nowhere")),))
    with pytest.raises(VerifyError, match="no state nowhere"):
        verify(make_program([BYTE], (), parser=lost), V1MODEL_TARGET)
    table = ir.Table("t", (), (ir.TableAction("NoAction"),), ir.ActionCall("NoAction", (1,)), False, 1)
    with pytest.raises(VerifyError, match="takes 0 arguments"):
        verify(make_program([BYTE], (), tables=[table]), V1MODEL_TARGET)
    with pytest.raises(VerifyError, match="not among its actions"):
        verify(make_program([BYTE], (), tables=[replace(table, default_action=ir.ActionCall("x"))]), V1MODEL_TARGET)


def test_names_are_unique() -> None:
    with pytest.raises(VerifyError, match="variable have the same name"):
        verify(make_program([BYTE], (), variables=[V, V]), V1MODEL_TARGET)
