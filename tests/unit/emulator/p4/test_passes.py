"""The pipeline of passes: every one leaves an equivalent program; what the small ones do."""

from __future__ import annotations

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.ir.verify import verify
from emulator.p4.passes import PIPELINE, run_passes
from emulator.p4.passes.field_runs import merged
from emulator.p4.passes.fold import fold
from emulator.v1model.target import V1MODEL_TARGET
from tests.programs.lane_program import lane_frames, lane_program
from tests.programs.p4_programs import Rig, binary, const, header_type, make_program, outcome, send_to, var

Op = ir.BinaryOp
LANES = header_type("lanes_t", *((f"x{i}", 32) for i in range(8)))
DATA = ir.Header("hdr.d", LANES)
X = [ir.FieldRef(DATA, f) for f in LANES.fields]
T = [var(f"t{i}", 32) for i in range(2)]
ZERO = const(0, 32)


def test_every_pass_leaves_a_program_that_verifies_and_does_the_same() -> None:
    program = lane_program(20, 16)
    frames = lane_frames(20, 60)
    wanted = outcome(Rig(program, "interpreter"), [frames])
    verify(program, V1MODEL_TARGET)
    for step in PIPELINE:
        program = step(program, V1MODEL_TARGET)
        verify(program, V1MODEL_TARGET)
        assert outcome(Rig(program, "interpreter"), [frames]) == wanted, step.__name__


def test_passes_are_reported_by_name_in_order() -> None:
    reported: list[str] = []
    run_passes(lane_program(4), V1MODEL_TARGET, after=lambda name, _: reported.append(name))
    assert reported == [p.__name__ for p in PIPELINE]


def test_neighbouring_fields_become_one_run() -> None:
    other = ir.Header("hdr.e", LANES)
    items = (X[0], X[1], X[2], X[4], const(0, 8), X[5], ir.FieldRef(other, LANES.fields[6]), X[7])
    runs = merged(items)
    assert [(r.header.name, r.offset_bits, r.width_bits) for r in runs if isinstance(r, ir.FieldRun)] == [
        ("hdr.d", 0, 96), ("hdr.d", 128, 32), ("hdr.d", 160, 32), ("hdr.e", 192, 32), ("hdr.d", 224, 32),
    ]  # fmt: skip


def test_folding() -> None:
    seven = ir.Cast(binary(Op.ADD, const(200, 8), const(63, 8)), ir.Bits(16))
    assert walk.map_expr(seven, fold) == const(7, 16)
    true, x = ir.Constant(1, ir.BOOL), ir.IsValid(DATA)
    assert fold(binary(Op.LOGICAL_AND, true, x)) is x
    assert fold(binary(Op.LOGICAL_OR, x, true)) is true


def test_dead_code_goes() -> None:
    body = (
        ir.Assign(T[0], X[0]),
        ir.Assign(T[1], T[0]),
        ir.If(ir.Constant(0, ir.BOOL), (ir.Assign(X[1], ZERO),)),
        send_to(1),
        ir.Exit(),
        ir.Assign(X[2], ZERO),
    )
    program = run_passes(make_program([DATA], body, variables=T), V1MODEL_TARGET)
    control = program.block("ig")
    assert isinstance(control, ir.Control)
    assert control.body == (send_to(1), ir.Exit())
    assert not any(v.name.startswith("t") for v in program.variables)
