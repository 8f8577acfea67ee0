"""Which statements become a ``Repeat``, which must not, and that programs behave as before."""

from __future__ import annotations

import struct

import pytest

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.ir.verify import verify
from emulator.p4.passes import run_passes
from emulator.p4.passes.reroll import reroll
from emulator.v1model.target import V1MODEL_TARGET
from tests.programs.lane_program import lane_frames, lane_program
from tests.programs.p4_programs import (
    binary,
    const,
    header_type,
    make_program,
    read,
    register,
    run_both,
    send_to,
    var,
    write,
)

Op = ir.BinaryOp


def all_statements(program: ir.Program) -> list[ir.Statement]:
    return [s for block in walk.root_blocks(program) for s in walk.statements(block)]


def repeats(program: ir.Program) -> list[ir.Repeat]:
    return [s for s in all_statements(program) if isinstance(s, ir.Repeat)]


@pytest.mark.parametrize(
    ("lanes", "width"), [(16, 32), (17, 32), (5, 32), (70, 8), (33, 16), (9, 64), (12, 24), (6, 48)]
)
def test_lanes_of_any_count_and_width(lanes: int, width: int) -> None:
    program = lane_program(lanes, 16, width=width)
    verify(program, V1MODEL_TARGET)
    assert len(repeats(reroll(program, V1MODEL_TARGET))) == 5
    frames = lane_frames(lanes, 40, width)
    run_both(program, frames[:20], frames[20:])


def test_reroll_is_short_whatever_the_number_of_lanes() -> None:
    few, many = (run_passes(lane_program(n), V1MODEL_TARGET) for n in (16, 300))
    assert len(all_statements(few)) == len(all_statements(many))
    assert len(few.variables) == len(many.variables)
    assert [len(g) for g in many.groups] == [300, 2]


# --- What must not be re-rolled -----------------------------------------------------------------------------------

LANES = header_type("lanes_t", *((f"x{i}", 32) for i in range(8)))
DATA = ir.Header("hdr.d", LANES)
X = [ir.FieldRef(DATA, f) for f in LANES.fields]
R = [register(f"r{i}", 32, 4) for i in range(8)]
T = [var(f"t{i}", 32) for i in range(8)]
ZERO = const(0, 32)

NOT_INDEPENDENT: dict[str, list[ir.Statement]] = {
    "a lane reads its neighbour, which was written before": [ir.Assign(X[i + 1], X[i]) for i in range(7)],
    "a sum over lanes": [ir.Assign(T[0], binary(Op.ADD, T[0], X[i])) for i in range(8)],
    "a temporary used later": [*(ir.Assign(T[i], X[i]) for i in range(8)), ir.Assign(X[0], T[5])],
    "a temporary read before it is written": [
        s for i in range(8) for s in (ir.Assign(X[i], T[0]), ir.Assign(T[0], X[i]))
    ],
    "uneven steps": [ir.Assign(X[i], ZERO) for i in (0, 1, 3, 4, 6, 7)],
    "one register": [write(R[0], const(i % 4, 32), X[i]) for i in range(8)],
    "lanes from the end": [ir.Assign(X[7 - i], ZERO) for i in range(8)],
    "registers from the end": [write(R[7 - i], ZERO, X[i]) for i in range(8)],
    "a neighbour's register": [s for i in range(7) for s in (read(R[i], T[i], ZERO), write(R[i + 1], ZERO, T[i]))],
    "an index from the lane": [read(R[i], T[i], X[i]) for i in range(8)],
    "a result in every lane's way": [ir.Assign(X[i], X[0]) for i in range(8)],
}


@pytest.mark.parametrize("name", list(NOT_INDEPENDENT))
def test_dependent_turns_stay_as_they_are(name: str) -> None:
    program = make_program([DATA], (*NOT_INDEPENDENT[name], send_to(1)), variables=T, externs=R)
    assert repeats(reroll(program, V1MODEL_TARGET)) == []
    frame = b"".join(struct.pack(">I", 1000 + i) for i in range(8))
    run_both(program, [frame, bytes(32), frame])


def test_an_action_inlined_twice_is_rerolled_twice() -> None:
    body = tuple(s for i in range(8) for s in (read(R[i], T[0], ZERO), write(R[i], ZERO, binary(Op.ADD, T[0], X[i]))))
    chosen = ir.If(binary(Op.EQ, X[0], ZERO), (ir.Region("add", body),))
    program = make_program([DATA], (chosen, ir.Region("add", body), send_to(1)), variables=T, externs=R)
    assert [r.count for r in repeats(reroll(program, V1MODEL_TARGET))] == [8, 8]
    result = run_both(program, [struct.pack(">8I", *range(8)), struct.pack(">8I", *range(1, 9))])
    assert [result.registers[f"r{i}"][0] for i in range(8)] == [3 * i + 1 for i in range(8)]


def test_a_value_that_passes_between_blocks_keeps_its_way() -> None:
    body = tuple(read(R[i], T[i], ZERO) for i in range(8))
    later = ir.If(binary(Op.EQ, X[1], ZERO), (ir.Assign(X[0], T[3]),))
    program = make_program([DATA], (ir.Region("read", body), later, send_to(1)), variables=T, externs=R)
    assert repeats(reroll(program, V1MODEL_TARGET)) == []


def test_a_part_of_a_header_keeps_the_rest() -> None:
    body = [ir.Assign(X[i], binary(Op.ADD, X[i], const(1, 32))) for i in range(2, 7)]
    program = make_program([DATA], (*body, send_to(1)))
    assert [r.count for r in repeats(reroll(program, V1MODEL_TARGET))] == [5]
    frame = struct.pack(">8I", *range(10, 18))
    assert run_both(program, [frame]).frames[0][1] == [struct.pack(">8I", 10, 11, 13, 14, 15, 16, 17, 17)]


def test_whole_header_read_and_overwritten_in_one_turn() -> None:
    body = [s for i in range(8) for s in (ir.Assign(T[i], X[i]), ir.Assign(X[i], binary(Op.SHL, T[i], const(1, 8))),
            write(R[i], const(2, 32), X[i]))]  # fmt: skip
    program = make_program([DATA], (*body, send_to(1)), variables=T, externs=R)
    assert [r.count for r in repeats(reroll(program, V1MODEL_TARGET))] == [8]
    result = run_both(program, [struct.pack(">8I", *range(8))])
    assert result.frames[0][1] == [struct.pack(">8I", *range(0, 16, 2))]
    assert [result.registers[f"r{i}"][2] for i in range(8)] == list(range(0, 16, 2))


def lane_reads(index: ir.Expr, temporaries: list[ir.Variable]) -> tuple[ir.Statement, ...]:
    """Each lane becomes its register's cell, or what its temporary holds where the index is out of range."""
    return tuple(s for i, t in enumerate(temporaries) for s in (read(R[i], t, index), ir.Assign(X[i], t)))


INDEX_VARIABLE = var("index", 32)


def out_of_range_program(second: ir.Expr, temporaries: list[ir.Variable], *, exclusive: bool) -> ir.Program:
    lanes = ir.Region("lanes", lane_reads(INDEX_VARIABLE, temporaries))
    twice: tuple[ir.Statement, ...] = (lanes, ir.Assign(INDEX_VARIABLE, second), lanes)
    if exclusive:
        twice = (ir.If(binary(Op.EQ, X[7], ZERO), (lanes,), (ir.Assign(INDEX_VARIABLE, second), lanes)),)
    fill = tuple(write(R[i], const(1, 32), const(40 + i, 32)) for i in range(7))
    body = (*fill, ir.Assign(INDEX_VARIABLE, const(1, 32)), *twice, send_to(1))
    return make_program([DATA], body, variables=[*T, INDEX_VARIABLE], externs=R)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_reads_out_of_range_leave_what_the_last_run_left(exclusive: bool, shared: bool) -> None:
    temporaries = [T[0]] * 7 if shared else T[:7]
    program = out_of_range_program(const(9, 32), temporaries, exclusive=exclusive)
    rerolled = [r for r in repeats(reroll(program, V1MODEL_TARGET)) if len(r.body) > 1]
    assert bool(rerolled) == (exclusive and not shared)
    run_both(program, [bytes(32), struct.pack(">8I", *range(1, 9))])


def test_reads_in_a_loop_leave_what_the_turn_before_left() -> None:
    step = ir.Assign(INDEX_VARIABLE, binary(Op.ADD, INDEX_VARIABLE, const(3, 32)))
    lanes = ir.Loop(binary(Op.LT, INDEX_VARIABLE, const(9, 32)), lane_reads(INDEX_VARIABLE, T[:7]), update=(step,))
    program = make_program([DATA], (lanes, send_to(1)), variables=[*T, INDEX_VARIABLE], externs=R)
    assert repeats(reroll(program, V1MODEL_TARGET)) == []
    run_both(program, [bytes(32)])
