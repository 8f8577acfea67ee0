"""Control flow, validity, copies and stacks: both engines, against what the specification says."""

from __future__ import annotations

import pytest

from emulator.p4 import ir
from tests.programs.p4_programs import binary, const, header_type, make_program, ref, run_both, send_to, var

Op = ir.BinaryOp
BYTE = header_type("byte_t", ("x", 8))
PAIR = header_type("pair_t", ("x", 8), ("y", 8))
OUT = ir.Header("hdr.out", header_type("out_t", ("a", 8), ("b", 8), ("c", 8), ("d", 8)))


def parse(*headers: ir.HeaderRef) -> ir.Parser:
    return ir.Parser("P", (ir.State("start", tuple(ir.Extract(h) for h in headers), ir.Goto("accept")),))


def outs(*values: ir.Expr) -> tuple[ir.Statement, ...]:
    names = ("a", "b", "c", "d")
    return (
        ir.SetValidity(OUT, True),
        *(ir.Assign(ref(OUT, n), v) for n, v in zip(names, values, strict=False)),
        send_to(1),
    )


def add(variable: ir.Variable, amount: int) -> ir.Assign:
    return ir.Assign(variable, binary(Op.ADD, variable, const(amount, 8)))


def test_return_and_exit_run_cleanups() -> None:
    head, v, w = ir.Header("hdr.h", BYTE), var("v", 8), var("w", 8)
    x = ref(head, "x")

    def when(value: int, *body: ir.Statement) -> ir.If:
        return ir.If(binary(Op.EQ, x, const(value, 8)), tuple(body))

    inner = ir.Region("inner", (add(v, 1), when(1, ir.Return()), when(2, ir.Exit()), add(v, 2)), (add(w, 10),))
    outer = ir.Region("outer", (inner, add(v, 4), when(3, ir.Return()), add(v, 8)), (add(w, 20),))
    # egress tells what ingress' exit skipped
    ingress = (send_to(1), outer, add(w, 100))
    program = make_program(
        [head, OUT], ingress, egress=outs(v, w), variables=[v, w], parser=parse(head), deparser=[ir.Emit(OUT)]
    )
    result = run_both(program, [bytes([n]) for n in range(4)])
    assert [tuple(f[:2]) for f in result.frames[0][1]] == [(15, 130), (13, 130), (1, 30), (7, 130)]


def test_switch_on_action_run_and_hit() -> None:
    head, v = ir.Header("hdr.h", BYTE), var("v", 8)
    hit, run = ir.Variable("hit", ir.BOOL), var("run", 32)
    actions = [ir.Action(f"act{i}", (), (add(v, i),)) for i in range(3)]
    entries = tuple(ir.TableEntry((ir.Masked(i, 255),), ir.ActionCall(f"act{i}"), 0) for i in range(2))
    table = ir.Table("t", (ir.TableKey("x", ref(head, "x"), "exact"),), tuple(ir.TableAction(a.name) for a in actions),
        ir.ActionCall("act2"), False, 8, entries, True)  # fmt: skip
    cases = (ir.SwitchCase((0,), (add(v, 10),)), ir.SwitchCase((1, 2), (add(v, 20),)))
    body = (
        ir.ApplyTable("t", hit, run),
        ir.Switch(run, cases, (add(v, 99),)),
        *outs(v, ir.Cast(ir.Cast(hit, ir.Bits(1)), ir.Bits(8))),
    )
    program = make_program(
        [head, OUT], body, variables=[v, hit, run], actions=actions, tables=[table], parser=parse(head)
    )
    assert [tuple(f[1:3]) for f in run_both(program, [b"\0", b"\1", b"\7"]).frames[0][1]] == [(10, 1), (21, 1), (22, 0)]


def test_validity_and_stale_fields() -> None:
    a, b = ir.Header("hdr.a", PAIR), ir.Header("hdr.b", PAIR)
    before = var("before", 8)
    body = (
        ir.Assign(ref(b, "x"), const(9, 8)),  # invisible, and gone after setValid
        ir.Assign(before, ref(b, "x")),
        ir.SetValidity(b, True),
        ir.Assign(ref(b, "y"), const(5, 8)),
        ir.SetValidity(a, False),
        *outs(before, ref(b, "x"), ref(b, "y"), ref(a, "x")),
    )
    program = make_program([a, b, OUT], body, variables=[before], parser=parse(a), deparser=[ir.Emit(OUT), ir.Emit(a)])
    assert run_both(program, [b"\x07\x08rest"]).frames[0][1] == [bytes([9, 0, 5, 7]) + b"rest"]


def test_copied_headers_are_independent() -> None:
    a, b, c = (ir.Header(f"hdr.{n}", PAIR) for n in "abc")
    body = (
        ir.CopyHeader(b, a),  # shares the frame's bytes
        ir.Assign(ref(a, "x"), const(1, 8)),
        ir.CopyHeader(c, a),  # a is in scratch now
        ir.Assign(ref(a, "y"), const(2, 8)),
        ir.Assign(ref(c, "x"), const(3, 8)),
        send_to(1),
    )
    egress = (
        ir.CopyHeader(a, c),
        ir.Assign(ref(c, "y"), const(4, 8)),
        ir.CopyHeader(b, c),
        ir.Assign(ref(b, "x"), const(5, 8)),
    )
    program = make_program([a, b, c], body, egress=egress, parser=parse(a))
    assert run_both(program, [b"\x10\x20"]).frames[0][1] == [bytes([3, 0x20, 5, 4, 3, 4])]
    empty = make_program([a, b, c], (ir.CopyHeader(a, b), send_to(1)), parser=parse(a))
    assert run_both(empty, [b"\x10\x20!"]).frames[0][1] == [b"!"]


STACK = ir.HeaderStack("hdr.s", BYTE, 3)


def stack_parser() -> ir.Parser:
    """Extracts while the byte's top bit is set."""
    more = ir.Select((ref(ir.StackLast(STACK), "x"),), (ir.SelectCase((ir.Masked(0x80, 0x80),), "start"),))
    return ir.Parser("P", (ir.State("start", (ir.Extract(ir.StackNext(STACK)),), more),))


@pytest.mark.parametrize("push", [0, 1, 2, 5, -1, -2, -5])
def test_stacks(push: int) -> None:
    from emulator.v1model.metadata import standard

    index = var("index", 8)
    shift: tuple[ir.Statement, ...] = ()
    if push:
        shift = (ir.PushFront(STACK, push) if push > 0 else ir.PopFront(STACK, -push),)
    chosen = ir.StackAt(STACK, index)
    body = (
        ir.Assign(index, ir.Cast(ir.StackLastIndex(STACK), ir.Bits(8))),
        *shift,
        *outs(ref(chosen, "x"), ir.Cast(ir.Cast(ir.IsValid(chosen), ir.Bits(1)), ir.Bits(8)),
              ir.Cast(ir.StackLastIndex(STACK), ir.Bits(8)), ir.Slice(standard("parser_error"), 7, 0)),
        ir.Assign(ref(chosen, "x"), const(0x55, 8)),
    )  # fmt: skip
    program = make_program([OUT], body, stacks=[STACK], variables=[index], parser=stack_parser())
    result = run_both(program, [b"", b"\1", b"\x81\2", b"\x81\x82\3", b"\x81\x82\x83\4rest", b"\x81"])
    if push == 0:
        assert result.frames[0][1][3][:4] == bytes([3, 1, 2, 0])
        assert result.frames[0][1][3][4:] == b"\x81\x82\x55"
        assert result.frames[0][1][4][3] == 3, "StackOutOfBounds"
    if push == 1:
        assert result.frames[0][1][3][4:] == b"\x81\x55", "the first is invalid, the second was the first"


def test_division_by_zero_is_zero_in_both() -> None:
    head = ir.Header("hdr.h", PAIR)
    x, y = ref(head, "x"), ref(head, "y")
    body = outs(binary(Op.DIV, x, y), binary(Op.MOD, x, y))
    program = make_program([head, OUT], body, parser=parse(head), deparser=[ir.Emit(OUT)])
    result = run_both(program, [b"\x09\x00", b"\x09\x02"])
    assert [tuple(f[:2]) for f in result.frames[0][1]] == [(0, 0), (4, 1)]
