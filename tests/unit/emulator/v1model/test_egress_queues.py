"""Egress queues in virtual time, on both engines: rates, depths, priorities, and what egress knows of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from emulator.p4 import ir
from emulator.switch.control import CloneSession, Code, ControlError
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram
from emulator.v1model.egress_queues import interval_of
from emulator.v1model.limits import REINJECTION_LIMIT
from emulator.v1model.metadata import Drop, standard
from tests.programs.p4_programs import (
    Rig,
    binary,
    const,
    read,
    ref,
    register,
    var,
    write,
)
from tests.programs.queue_program import TAG, Seen, ask, asked, at_times, queue_program, tell

MS = 1_000_000
Op = ir.BinaryOp
Prepare = Callable[[Switch], None]


def run(
    program: ir.Program,
    arrivals: Sequence[tuple[int, Sequence[bytes]]],
    prepare: Prepare,
    *,
    drops: dict[str, int] | None = None,
    until_ns: int | None = None,
) -> dict[int, list[bytes]]:
    """What left by each port, the same for both engines and for any calls between the arrivals."""
    results = []
    for engine in ("interpreter", "llvm"):
        for every_timer in (True, False):
            rig = Rig(program, engine)
            prepare(rig.switch)
            left = at_times(rig, arrivals, every_timer=every_timer, until_ns=until_ns)
            cells = [[rig.switch.read_register(v.id, i) for i in range(v.size)] for v in loaded(rig).view.registers]
            results.append((left, dict(rig.switch.drops), cells))
    assert all(result == results[0] for result in results)
    assert results[0][1] == (drops or {})
    return results[0][0]


def loaded(rig: Rig) -> CompiledProgram:
    assert rig.switch.program is not None
    return rig.switch.program


def seen(frames: Sequence[bytes]) -> list[Seen]:
    return [Seen.read(frame) for frame in frames]


def rate(packets_per_s: int, *place: int) -> Prepare:
    return lambda switch: switch.set_queue_rate(packets_per_s, *place)


def both(*steps: Prepare) -> Prepare:
    def prepare(switch: Switch) -> None:
        for step in steps:
            step(switch)

    return prepare


def test_packets_leave_at_the_rate_and_know_how_long_they_waited() -> None:
    frames = [asked(number=i) for i in range(4)]
    left = run(queue_program(), [(10 * MS, frames)], rate(1000))
    assert seen(left[1]) == [Seen(i, 10_000, max(0, i - 1), 1000 * i, (3 - i) if i else 0, 10_000 + 1000 * i)
                             for i in range(4)]  # fmt: skip


def test_a_packet_that_comes_later_than_the_rate_asks_leaves_at_once() -> None:
    arrivals = [(10 * MS, [asked(number=0)]), (15 * MS, [asked(number=1)])]
    assert seen(run(queue_program(), arrivals, rate(1000))[1])[1] == Seen(1, 15_000, 0, 0, 0, 15_000)


def test_the_frame_and_its_headers_wait_unchanged() -> None:
    frames = [asked(number=i, payload=bytes([i]) * 700) for i in range(3)]
    left = run(queue_program(egress=()), [(MS, frames), (MS + 5, [asked(number=9, payload=b"\xff" * 900)])], rate(10))
    assert left == {1: [*frames, asked(number=9, payload=b"\xff" * 900)]}


def test_what_finds_its_queue_full_is_dropped_and_counted() -> None:
    frames = [asked(number=i) for i in range(6)]
    prepare = both(rate(1000), lambda switch: switch.set_queue_depth(3))
    left = run(queue_program(), [(MS, frames)], prepare, drops={Drop.EGRESS_QUEUE_FULL.words: 2})
    assert [s.number for s in seen(left[1])] == [0, 1, 2, 3]  # one has left at once, three wait


def test_the_depth_is_64_unless_set_and_0_lets_nothing_through() -> None:
    frames = [asked(number=i) for i in range(70)]
    left = run(queue_program(), [(MS, frames)], rate(1000), drops={Drop.EGRESS_QUEUE_FULL.words: 5})
    assert len(left[1]) == 65
    nothing = run(queue_program(), [(MS, frames[:2])], lambda switch: switch.set_queue_depth(0, 1),
                  drops={Drop.EGRESS_QUEUE_FULL.words: 2})  # fmt: skip
    assert nothing == {}


def test_ports_have_queues_of_their_own() -> None:
    frames = [asked(number=i, port=1 + i % 2) for i in range(6)]
    left = run(queue_program(), [(MS, frames)], both(rate(1000, 1), rate(0, 2)))
    assert [s.deq_timedelta for s in seen(left[1])] == [0, 1000, 2000]
    assert [(s.deq_timedelta, s.enq_qdepth) for s in seen(left[2])] == [(0, 0)] * 3


def test_a_depth_alone_delays_nothing() -> None:
    frames = [asked(number=i) for i in range(5)]
    left = run(queue_program(), [(MS, frames)], lambda switch: switch.set_queue_depth(1))
    assert [(s.number, s.deq_timedelta) for s in seen(left[1])] == [(i, 0) for i in range(5)]


def test_of_packets_that_may_leave_together_the_larger_priority_goes_first() -> None:
    """Both queues had a packet at 0 ms, so their next ones leave at 1 ms."""
    frames = [asked(number=10 * p + i, priority=p) for p in (0, 3) for i in range(3)]
    prepare = both(lambda switch: switch.set_priority_queues(4), rate(1000))
    left = run(queue_program(qid=True), [(0, frames)], prepare)
    assert [(s.number, s.qid, s.enq_qdepth) for s in seen(left[1])] == [
        (0, 0, 0), (30, 3, 0), (31, 3, 0), (1, 0, 0), (32, 3, 1), (2, 0, 1),
    ]  # fmt: skip


def test_a_rate_of_one_priority_holds_up_no_other() -> None:
    frames = [asked(number=10 * p + i, priority=p) for i in range(2) for p in (0, 1)]
    prepare = both(lambda switch: switch.set_priority_queues(2), rate(100, 1, 1))
    assert [s.number for s in seen(run(queue_program(), [(0, frames)], prepare)[1])] == [0, 10, 1, 11]


def test_a_priority_without_a_queue_drops_the_packet() -> None:
    frames = [asked(number=p, priority=p) for p in range(3)]
    one = run(queue_program(), [(0, frames)], rate(0), drops={Drop.PRIORITY.words: 2})
    assert [s.number for s in seen(one[1])] == [0]
    two = run(queue_program(), [(0, frames)], lambda switch: switch.set_priority_queues(2),
              drops={Drop.PRIORITY.words: 1})  # fmt: skip
    assert [s.number for s in seen(two[1])] == [0, 1]


def test_each_copy_of_a_group_waits_for_its_own_port() -> None:
    def prepare(switch: Switch) -> None:
        switch.insert_multicast_group(3, ((1, 7), (1, 8), (2, 9)))
        switch.set_queue_rate(1000, 1)

    egress = (*tell(), ir.Assign(ref(TAG, "qid"), ir.Cast(standard("egress_rid"), ir.Bits(8))))
    program = queue_program(ingress=(ir.Assign(standard("mcast_grp"), const(3, 16)),), egress=egress)
    left = run(program, [(MS, [asked(number=5)])], prepare)
    assert seen(left[1]) == [Seen(5, 1000, 0, 0, 1, 1000, 7), Seen(5, 1000, 1, 1000, 0, 2000, 8)]
    assert seen(left[2]) == [Seen(5, 1000, 0, 0, 0, 1000, 9)]


def test_clones_wait_too() -> None:
    """An ingress clone in front of its original; a clone of egress when its original has left."""

    def prepare(switch: Switch) -> None:
        switch.set_clone_session(CloneSession(5, ((1, 0),)))
        switch.set_queue_rate(1000, 1)

    ingress = run(queue_program(ingress=(*ask(), ir.CallExtern("clone", (const(0, 32), const(5, 32))))),
                  [(0, [asked(number=1)])], prepare)  # fmt: skip
    assert seen(ingress[1]) == [Seen(1, 0, 0, 0, 1, 0), Seen(1, 0, 1, 1000, 0, 1000)]
    first = binary(Op.EQ, standard("instance_type"), const(0, 32))
    again = ir.If(first, (ir.CallExtern("clone", (const(1, 32), const(5, 32))),))
    egress = run(queue_program(egress=(*tell(), again)), [(0, [asked(number=1)])], prepare)
    assert seen(egress[1]) == [Seen(1, 0, 0, 0, 0, 0), Seen(1, 0, 0, 1000, 0, 1000)]


def test_a_packet_that_goes_round_waits_each_time() -> None:
    """Recirculated until its third time; then by another port. Each round takes the rate's interval."""
    round_ = ref(TAG, "qid")
    more = ir.Assign(round_, binary(Op.ADD, round_, const(1, 8)))
    below = binary(Op.LT, round_, const(3, 8))
    ingress = (
        ir.If(
            below,
            (ir.Assign(standard("egress_spec"), const(1, 9)),),
            (ir.Assign(standard("egress_spec"), const(2, 9)),),
        ),
    )
    going = ir.If(below, (more, ir.CallExtern("recirculate_preserving_field_list", (const(0, 8),))))
    program = queue_program(ingress=ingress, egress=(*tell(), going))
    left = run(program, [(0, [asked(number=4)])], rate(1000, 1))
    assert seen(left[2]) == [Seen(4, 2000, 0, 0, 0, 2000, 3)]


def test_resubmitted_packets_enter_a_queue_once() -> None:
    again = ir.CallExtern("resubmit_preserving_field_list", (const(0, 8),))
    new = binary(Op.EQ, standard("instance_type"), const(0, 32))
    left = run(
        queue_program(ingress=(*ask(), ir.If(new, (again,)))), [(0, [asked(number=i) for i in (1, 2)])], rate(1000)
    )
    assert seen(left[1]) == [Seen(1, 0, 0, 0, 0, 0), Seen(2, 0, 0, 1000, 0, 1000)]


def test_a_packet_that_goes_round_for_ever_without_waiting_is_dropped() -> None:
    program = queue_program(egress=(ir.CallExtern("recirculate_preserving_field_list", (const(0, 8),)),))
    assert run(program, [(0, [asked(number=4)])], rate(0), drops={Drop.REINJECTED_TOO_OFTEN.words: 1}) == {}
    assert REINJECTION_LIMIT == 4096


def test_the_state_of_egress_is_written_when_packets_leave() -> None:
    """Not when they come: at 2.5 ms three of five have left."""
    count, total = register("sum", 32, 1), var("meta.sum", 32)
    index = ir.Constant(0, ir.INDEX)
    egress = (read(count, total, index), write(count, index, binary(Op.ADD, total, const(1, 32))))
    program = queue_program(egress=egress, variables=[total], externs=[count])
    for engine in ("interpreter", "llvm"):
        rig = Rig(program, engine)
        rig.switch.set_queue_rate(1000)
        at_times(rig, [(0, [asked(number=i) for i in range(5)])], until_ns=2 * MS + MS // 2)
        assert rig.switch.read_register(loaded(rig).view.registers[0].id, 0) == 3
        assert rig.next_ns == 3 * MS


@pytest.mark.parametrize("engine", ["interpreter", "llvm"])
def test_settings_while_packets_wait(engine: str) -> None:
    """Packets that wait keep the times that were decided when they came; state and tables stay as they are."""
    rig = Rig(queue_program(), engine)
    rig.run(asked(number=0), now_ns=0)
    assert rig.next_ns is None
    rig.switch.set_queue_rate(1000)
    rig.run(asked(number=1), asked(number=2), now_ns=MS)
    rig.switch.set_queue_rate(0)
    rig.run(asked(number=3), now_ns=MS)
    assert rig.next_ns == 2 * MS
    left = rig.run(now_ns=2 * MS)
    assert [(s.number, s.deq_timedelta) for s in seen(left[1])] == [(2, 1000), (3, 1000)]


@pytest.mark.parametrize("engine", ["interpreter", "llvm"])
def test_settings_outlive_the_program_and_packets_do_not(engine: str) -> None:
    rig = Rig(queue_program(), engine)
    rig.switch.set_queue_rate(1000)
    rig.run(*(asked(number=i) for i in range(3)), now_ns=0)
    rig.switch.load(loaded(rig))
    assert rig.run(now_ns=100 * MS) == {}
    left = at_times(rig, [(200 * MS, [asked(number=7), asked(number=8)])])
    assert [(s.number, s.deq_timedelta) for s in seen(left[1])] == [(7, 0), (8, 1000)]


@pytest.mark.parametrize("engine", ["interpreter", "llvm"])
def test_meters_and_idle_times_of_egress_see_the_time_of_leaving(engine: str) -> None:
    rig = Rig(queue_program(), engine)
    rig.switch.set_queue_rate(1000)
    rig.run(*(asked(number=i) for i in range(3)), now_ns=0)
    late = rig.run(now_ns=50 * MS)  # called late
    assert [s.egress_global_timestamp for s in seen(late[1])] == [1000, 2000]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.set_queue_rate(1, 512), "a port's number is 0 .. 511, not 512"),
        (lambda s: s.set_queue_rate(-1), "the rate of a queue is 0 or more, not -1"),
        (lambda s: s.set_queue_depth(-1), "the depth of a queue is 0 or more, not -1"),
        (lambda s: s.set_queue_depth(5, 1, 1), "each port has one queue, and none for priority 1 (--priority-queues)"),
        (lambda s: s.set_priority_queues(9), "a port has 1 to 8 priority queues, not 9"),
    ],
)
def test_wrong_settings(change: Prepare, message: str) -> None:
    switch = Switch()
    with pytest.raises(ControlError) as caught:
        change(switch)
    assert (caught.value.message, caught.value.code) == (message, Code.OUT_OF_RANGE)
    assert not switch.has_queues


def test_intervals() -> None:
    assert [interval_of(rate) for rate in (0, 1, 3, 10**9, 10**10)] == [0, 10**9, 333_333_333, 1, 0]
