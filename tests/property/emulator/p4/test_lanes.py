"""Generated code over lanes, the kind that is re-rolled, with indices that may be out of range: both engines agree."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.p4 import ir
from tests.labs.extent import tries
from tests.programs.p4_programs import (
    binary,
    const,
    header_type,
    make_program,
    read,
    ref,
    register,
    run_both,
    send_to,
    var,
    write,
)

Op = ir.BinaryOp
SLOTS = 4
HEAD = ir.Header("hdr.head", header_type("head_t", ("first", 8), ("second", 8)))
INDEX = var("index", 32)
COUNT = var("count", 8)


def expression(draw: st.DrawFn, leaves: list[Callable[[int], ir.Expr]], depth: int = 2) -> Callable[[int], ir.Expr]:
    """What a lane computes, as a function of the lane's number."""
    if not depth or draw(st.integers(0, 2)) == 0:
        return draw(st.sampled_from(leaves))
    op = draw(st.sampled_from((Op.ADD, Op.SUB, Op.XOR, Op.MUL, Op.ADD_SAT, Op.DIV, Op.SHR)))
    left, right = expression(draw, leaves, depth - 1), expression(draw, leaves, depth - 1)
    if draw(st.integers(0, 3)) == 0:
        return lambda i: ir.Mux(binary(Op.LT, left(i), right(i)), left(i), right(i), left(i).type)
    return lambda i: binary(op, left(i), right(i))


@st.composite
def lane_programs(draw: st.DrawFn) -> ir.Program:
    lanes, width = draw(st.integers(4, 19)), draw(st.sampled_from((8, 16, 32, 12, 64)))
    kind = header_type("lanes_t", *((f"x{i}", width) for i in range(lanes)), *((f"y{i}", width) for i in range(lanes)))
    data = ir.Header("hdr.lanes", kind)
    cells = [[register(f"r{k}_{i}", width, SLOTS) for i in range(lanes)] for k in range(2)]
    shared = draw(st.integers(0, 3)) == 0
    temporaries = [[var(f"t{k}_{0 if shared else i}", width) for i in range(lanes)] for k in range(2)]

    def body() -> ir.Block:
        """Like statements for each lane, lane by lane or statement by statement."""
        indices: list[ir.Expr] = [INDEX, INDEX, const(draw(st.integers(0, SLOTS)), 32)]
        index = draw(st.sampled_from(indices))
        leaves: list[Callable[[int], ir.Expr]] = [
            lambda i: ref(data, f"x{i}"),
            lambda i: ref(data, f"y{i}"),
            lambda i: temporaries[0][i],
            lambda i: temporaries[1][i],
            lambda i: const(3, width),
        ]
        makers: list[Callable[[int], ir.Statement]] = []
        for _ in range(draw(st.integers(1, 4))):
            k, value = draw(st.integers(0, 1)), expression(draw, leaves)
            makers.append(
                draw(
                    st.sampled_from(
                        (
                            lambda i, k=k: read(cells[k][i], temporaries[k][i], index),
                            lambda i, k=k: read(cells[k][i], ref(data, f"x{i}"), index),
                            lambda i, k=k, value=value: write(cells[k][i], index, value(i)),
                            lambda i, value=value: ir.Assign(ref(data, f"y{i}"), value(i)),
                            lambda i, k=k, value=value: ir.Assign(temporaries[k][i], value(i)),
                        )
                    )
                )
            )
        first = draw(st.integers(0, 2))
        chosen = range(first, lanes)
        if draw(st.booleans()):
            return tuple(make(i) for i in chosen for make in makers)
        return tuple(make(i) for make in makers for i in chosen)

    def some() -> ir.Block:
        one, other = body(), body()
        next_index = ir.Assign(INDEX, binary(Op.ADD, INDEX, const(draw(st.integers(1, 3)), 32)))
        condition = binary(Op.GT, ref(HEAD, "second"), const(128, 8))
        step = ir.Assign(COUNT, binary(Op.ADD, COUNT, const(1, 8)))
        return draw(
            st.sampled_from(
                (
                    one,
                    (ir.If(condition, one, (next_index, *one)),),
                    (ir.Region("r", one), next_index, ir.Region("r", one)),
                    (ir.If(condition, one), next_index, *other),
                    (ir.Loop(binary(Op.LT, COUNT, const(2, 8)), (*one, next_index), update=(step,)),),
                )
            )
        )

    start = ir.Assign(INDEX, ir.Cast(binary(Op.AND, ref(HEAD, "first"), const(7, 8)), ir.INDEX))
    names = {v.name: v for row in temporaries for v in row}
    return make_program(
        [HEAD, data], (send_to(1), start, *some(), *some()), egress=some() if draw(st.booleans()) else (),
        variables=[INDEX, COUNT, *names.values()], externs=[c for row in cells for c in row],
    )  # fmt: skip


@settings(max_examples=tries(15, 40), deadline=None, suppress_health_check=list(HealthCheck))
@given(program=lane_programs(), seed=st.randoms(use_true_random=False))
def test_lanes(program: ir.Program, seed) -> None:
    size = sum(h.type.length_bits for h in program.headers) // 8
    frames = [seed.randbytes(size) for _ in range(12)]
    run_both(program, frames, frames[::-1])
