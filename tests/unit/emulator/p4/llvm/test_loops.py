"""Loops on both engines: break, continue, prelude, nesting, regions inside, and the limit."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.v1model.metadata import Drop
from tests.programs.p4_programs import binary, const, header_type, make_program, ref, run_both, send_to, var

Op = ir.BinaryOp
DATA = ir.Header("hdr.d", header_type("d_t", ("n", 8), ("a", 8), ("b", 8), ("c", 8)))
N, A, B, C = (ref(DATA, name) for name in "nabc")
TURN, J = var("i", 8), var("j", 8)


def add(place: ir.Place, amount: ir.Expr | int) -> ir.Assign:
    value = const(amount, 8) if isinstance(amount, int) else amount
    return ir.Assign(place, binary(Op.ADD, place, value))


def counted(body: list[ir.Statement], counter: ir.Variable = TURN, limit: ir.Expr = N) -> ir.Block:
    loop = ir.Loop(binary(Op.LT, counter, limit), tuple(body), update=(add(counter, 1),))
    return (ir.Assign(counter, const(0, 8)), loop)


def answer(*body: ir.Statement, frames: list[bytes]) -> list[bytes]:
    program = make_program([DATA], (send_to(1), *body), variables=[TURN, J])
    return run_both(program, frames).frames[0].get(1, [])


def test_break_and_continue() -> None:
    odd = ir.If(binary(Op.EQ, binary(Op.AND, TURN, const(1, 8)), const(1, 8)), (ir.Continue(),))
    enough = ir.If(binary(Op.GT, TURN, const(6, 8)), (ir.Break(),))
    body = counted([enough, odd, add(A, TURN)])
    assert answer(*body, frames=[b"\0\0\0\0", b"\5\0\0\0", b"\x63\0\0\0"]) == [
        b"\0\0\0\0",
        b"\5\6\0\0",
        b"\x63\x0c\0\0",
    ]


def test_prelude_runs_before_each_test_and_update_after_continue() -> None:
    loop = ir.Loop(binary(Op.LT, A, const(5, 8)), (ir.Continue(),), prelude=(add(A, 2),), update=(add(B, 1),))
    assert answer(loop, frames=[b"\0\0\0\0", b"\0\3\0\0"]) == [b"\0\6\2\0", b"\0\5\0\0"]


def test_nested_loops_and_regions() -> None:
    leave = ir.If(binary(Op.EQ, J, const(2, 8)), (ir.Return(),))
    inner = ir.Region("inner", (*counted([leave, add(A, 1)], J, const(9, 8)), add(C, 100)), cleanup=(add(B, 1),))
    stop = ir.If(binary(Op.EQ, TURN, const(3, 8)), (ir.Exit(),))
    body = (ir.Region("outer", counted([stop, inner]), cleanup=(add(C, 1),)), add(C, 50))
    assert answer(*body, frames=[b"\2\0\0\0", b"\7\0\0\0"]) == [b"\2\4\2\x33", b"\7\6\3\1"]


def test_headers_in_loops() -> None:
    """A long header that a turn copies, changes and makes anew keeps what it should."""
    kind = header_type("long_t", *((f"x{i}", 32) for i in range(20)))
    one, two = ir.Header("hdr.one", kind), ir.Header("hdr.two", kind)
    body = counted([
        ir.If(binary(Op.EQ, TURN, const(1, 8)), (ir.CopyHeader(two, one),)),
        ir.Assign(ref(one, "x0"), binary(Op.ADD, ref(one, "x0"), const(1, 32))),
        ir.If(binary(Op.EQ, TURN, const(2, 8)), (ir.SetValidity(one, False), ir.Continue())),
    ])  # fmt: skip
    parser = ir.Parser("P", (ir.State("start", (ir.Extract(DATA), ir.Extract(one)), ir.Goto("accept")),))
    program = make_program([DATA, one, two], (send_to(1), *body), variables=[TURN], parser=parser)
    run_both(program, [bytes([n, 0, 0, 0]) + bytes(range(80)) for n in range(5)])


def test_a_loop_without_end_drops_the_packet() -> None:
    forever = ir.Loop(binary(Op.EQ, N, const(1, 8)), (add(A, 1),))
    program = make_program([DATA], (send_to(1), forever, add(B, 1)))
    result = run_both(program, [b"\0\0\0\0", b"\1\0\0\0", b"\2\0\0\0"])
    assert result.frames[0][1] == [b"\0\0\1\0", b"\2\0\1\0"]
    assert result.drops[Drop.LOOP_LIMIT.words] == 1


def test_the_last_turn_allowed() -> None:
    wide = var("wide", 32)
    step = ir.Assign(wide, binary(Op.ADD, wide, const(1, 32)))
    for turns, comes in ((ir.LOOP_LIMIT - 1, True), (ir.LOOP_LIMIT, False)):
        loop = ir.Loop(binary(Op.LT, wide, const(turns, 32)), (step,))
        program = make_program([DATA], (send_to(1), loop), variables=[wide])
        assert (1 in run_both(program, [bytes(4)]).frames[0]) == comes
