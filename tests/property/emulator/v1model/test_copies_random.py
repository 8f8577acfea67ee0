"""Generated programs whose packets clone, come round again, multiply and are cut: machine code equals the interpreter,
frames in order, drops, faults, registers, digests and messages included."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.p4 import ir
from emulator.p4.ir.verify import verify
from emulator.switch.control import CloneSession
from emulator.v1model import interpreted
from emulator.v1model.llvm import queues, transmit
from emulator.v1model.metadata import standard
from emulator.v1model.target import V1MODEL_TARGET
from tests.labs.extent import tries
from tests.programs.p4_programs import (
    binary,
    const,
    header_type,
    make_program,
    mark_to_drop,
    read,
    ref,
    register,
    run_both,
    send_to,
    var,
    write,
)

Op = ir.BinaryOp
SHORT = ir.Header("hdr.short", header_type("short_t", ("port", 8), ("what", 8), ("a", 16), ("b", 32)))
EXTRA = ir.Header("hdr.extra", header_type("extra_t", ("a", 16), ("b", 32), ("c", 16)))
LONG = ir.Header("hdr.long", header_type("long_t", *((f"w{i}", 32) for i in range(18))))
META = (var("meta.a", 16), var("meta.b", 32), var("meta.c", 16))
LOCAL = var("local.x", 16)
LISTS = ((1, META[:1]), (2, META), (7, META[1:2]))
CELLS = register("cells", 16, 4)
STANDARD = (
    "instance_type",
    "packet_length",
    "ingress_port",
    "egress_port",
    "egress_rid",
    "mcast_grp",
    "checksum_error",
)
PLACES: tuple[ir.Place, ...] = (
    *META,
    LOCAL,
    *(ref(SHORT, n) for n in ("what", "a", "b")),
    *(ref(EXTRA, n) for n in ("a", "b")),
    ref(LONG, "w0"),
    ref(LONG, "w17"),
)
LIMIT, CAPACITY = 24, 5


@pytest.fixture(autouse=True)
def small_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that full queues and endless rounds are found soon, and the queues' ends are passed often."""
    for module in (interpreted, queues):
        monkeypatch.setattr(module, "REINJECTION_LIMIT", LIMIT)
        monkeypatch.setattr(module, "QUEUE_CAPACITY", CAPACITY)
    for module in (interpreted, queues, transmit):
        monkeypatch.setattr(module, "REINJECTION_CELL_BYTES", 128)
    monkeypatch.setattr(queues, "ENTRY_SLOTS", CAPACITY + 2)


def fitted(expr: ir.Expr, kind: ir.Type) -> ir.Expr:
    return expr if expr.type == kind else ir.Cast(expr, kind)


@st.composite
def values(draw: st.DrawFn) -> ir.Expr:
    sources = [*PLACES, *(standard(name) for name in STANDARD), const(draw(st.integers(0, 9)), 16)]
    first, second = draw(st.sampled_from(sources)), draw(st.sampled_from(sources))
    return binary(draw(st.sampled_from((Op.ADD, Op.XOR))), fitted(first, ir.Bits(32)), fitted(second, ir.Bits(32)))


@st.composite
def conditions(draw: st.DrawFn) -> ir.Expr:
    if draw(st.booleans()):
        return binary(Op.EQ, standard("instance_type"), const(draw(st.sampled_from((0, 1, 2, 4, 5, 6))), 32))
    bit = const(1 << draw(st.integers(0, 3)), 32)
    return binary(Op.NE, binary(Op.AND, draw(values()), bit), const(0, 32))


@st.composite
def wishes(draw: st.DrawFn, *, ingress: bool) -> ir.Statement:
    number = const(draw(st.sampled_from((1, 2, 7, 9))), 8)
    session = const(draw(st.sampled_from((1, 2, 3, 4))), 32)
    kind = const(0 if ingress else 1, 32)
    again = "resubmit_preserving_field_list" if ingress else "recirculate_preserving_field_list"
    calls: list[ir.Statement] = [
        ir.CallExtern("clone", (kind, session)),
        ir.CallExtern("clone_preserving_field_list", (kind, session, number)),
        ir.CallExtern(again, (number,)),
        ir.CallExtern("truncate", (const(draw(st.integers(0, 90)), 32),)),
        mark_to_drop(),
    ]
    if ingress:
        calls.append(ir.Assign(standard("mcast_grp"), const(draw(st.integers(0, 3)), 16)))
    return draw(st.sampled_from(calls))


@st.composite
def statements(draw: st.DrawFn, depth: int, *, ingress: bool) -> ir.Statement:
    place = draw(st.sampled_from(PLACES))
    match draw(st.integers(0, 10 if depth else 8)):
        case 0 | 1:
            return draw(wishes(ingress=ingress))
        case 2:
            return ir.SetValidity(draw(st.sampled_from((EXTRA, LONG))), draw(st.booleans()))
        case 3:
            index = ir.Cast(binary(Op.AND, draw(values()), const(3, 32)), ir.INDEX)
            return read(CELLS, META[0], index) if draw(st.booleans()) else write(CELLS, index, META[0])
        case 4:
            return ir.CallExtern("random", (META[2], const(draw(st.integers(0, 9)), 16), const(7, 16)))
        case 5:
            return ir.CallExtern("digest", (ir.Text("learn"), const(1, 32), (META[0], ref(SHORT, "b"))))
        case 6:
            return ir.CallExtern("log_msg", (ir.Text("x {} {}"), (LOCAL, ref(EXTRA, "a"))))
        case 9 | 10:
            body = draw(st.lists(statements(depth - 1, ingress=ingress), max_size=3))
            return ir.If(draw(conditions()), tuple(body))
    return ir.Assign(place, fitted(draw(values()), place.type))


@st.composite
def programs(draw: st.DrawFn) -> ir.Program:
    port = ir.Cast(binary(Op.AND, ref(SHORT, "port"), const(7, 8)), ir.Bits(9))
    ingress = (send_to(port), *draw(st.lists(statements(2, ingress=True), min_size=1, max_size=6)))
    egress = draw(st.lists(statements(2, ingress=False), min_size=1, max_size=6))
    key = ir.Cast(standard("ingress_port"), ir.Bits(8)) if draw(st.booleans()) else ref(SHORT, "what")
    cases = (ir.SelectCase((ir.Masked(0, 1),), "more"), ir.SelectCase((ir.Masked(1, 3),), "accept"))
    states = (
        ir.State("start", (ir.Extract(SHORT), ir.Assign(META[1], fitted(ref(SHORT, "a"), META[1].type))),
            ir.Select((key,), cases)),
        ir.State("more", (ir.Extract(LONG),), ir.Goto("accept")),
    )  # fmt: skip
    deparser: tuple[ir.Statement, ...] = tuple(ir.Emit(h) for h in (SHORT, EXTRA, LONG))
    if draw(st.booleans()):
        deparser = (*deparser, ir.CallExtern("log_msg", (ir.Text("out {}"), (ref(SHORT, "a"),))))
    check = (ir.Constant(1, ir.BOOL), (ref(LONG, "w1"), ref(SHORT, "b")), META[0], const(6, 32))
    compute = (ir.CallExtern("update_checksum_with_payload", check),) if draw(st.booleans()) else ()
    return make_program(
        [SHORT, EXTRA, LONG], ingress, egress=egress, parser=ir.Parser("P", states), deparser=deparser,
        compute=compute, variables=[*META, LOCAL], externs=[CELLS], field_lists=LISTS,
    )  # fmt: skip


def prepare(switch) -> None:
    switch.insert_multicast_group(1, ((0, 1), (2, 2), (2, 3)))
    switch.insert_multicast_group(2, ((5, 1), (99, 2)))
    switch.set_clone_session(CloneSession(1, ((1, 0),)))
    switch.set_clone_session(CloneSession(2, ((2, 4), (3, 4), (2, 6))))
    switch.set_clone_session(CloneSession(3, ((9, 0),), 20))


@settings(max_examples=tries(20, 60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    program=programs(),
    frames=st.lists(st.tuples(st.integers(0, 7), st.binary(max_size=120)), min_size=1, max_size=5),
)
def test_copies_are_the_same_on_both_engines(program: ir.Program, frames: list[tuple[int, bytes]]) -> None:
    verify(program, V1MODEL_TARGET)
    run_both(program, frames, frames[::-1], prepare=prepare)
