"""Meters, digests, value sets, clone sessions, idle times and direct resources, on both engines in virtual time."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from emulator.switch.control import (
    CloneSession,
    Code,
    ControlError,
    CounterValue,
    Exact,
    Lpm,
    MeterConfig,
    Optional,
    Range,
    Rate,
    TableEntry,
    Ternary,
    ValueSetMember,
)
from emulator.v1model.layout import DIGEST_SAMPLES
from tests.programs.control_plane import ENGINES, ControlRig, colours_of, frame, value_of

GREEN, YELLOW, RED = range(3)
FRAME_BYTES = len(frame())


class Bucket:
    """Tokens said with fractions, from the origin of time."""

    def __init__(self, rate: Rate) -> None:
        self.rate, self.burst = Fraction(rate.per_us), rate.burst
        self.tokens, self.counted = rate.burst, 0

    def at(self, now_us: int) -> int:
        until = int(now_us * self.rate)
        self.tokens, self.counted = min(self.tokens + until - self.counted, self.burst), until
        return self.tokens


class PlainMeter:
    def __init__(self, config: MeterConfig) -> None:
        self.peak, self.committed = Bucket(config.peak), Bucket(config.committed)

    def colour(self, amount: int, now_ns: int) -> int:
        now_us = now_ns // 1000
        if self.peak.at(now_us) < amount:
            return RED
        self.peak.tokens -= amount
        if self.committed.at(now_us) < amount:
            return YELLOW
        self.committed.tokens -= amount
        return GREEN


def config(committed: tuple[float, int], peak: tuple[float, int]) -> MeterConfig:
    return MeterConfig(Rate(*committed), Rate(*peak))


def times(source: random.Random, count: int) -> list[int]:
    """Non-decreasing, in ns."""
    now, found = source.randrange(10**9), []
    for _ in range(count):
        now += source.choice([0, 0, 700, 1_000, 25_000, 10**6, 10**8])
        found.append(now)
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_indirect_meters_against_a_plain_one(engine: str) -> None:
    """Bytes: a frame takes its length. Rates are binary fractions, so that both arithmetics are exact."""
    source = random.Random(5)
    rig = ControlRig(engine)
    meter = rig.view.meters[0].id
    seen = set()
    for turn in range(12):
        rate = Fraction(source.randrange(1, 2000), 1024)
        wanted = config(
            (float(rate), source.randrange(5 * FRAME_BYTES)),
            (float(rate * source.choice([1, 2, 3])), source.randrange(5 * FRAME_BYTES)),
        )
        rig.control.write_meter(meter, turn % 4, wanted)
        assert rig.control.read_meter(meter, turn % 4) == wanted
        plain = PlainMeter(wanted)
        for now in times(source, 12):
            (answer,) = rig.send(frame(kind=turn % 4), now_ns=now)
            assert colours_of(answer)[1] == plain.colour(FRAME_BYTES, now)
            seen.add(colours_of(answer)[1])
    assert seen == {GREEN, YELLOW, RED}
    rig.control.write_meter(meter, 0, None)
    assert rig.control.read_meter(meter, 0) is None
    assert [colours_of(a)[1] for a in rig.send(*[frame()] * 9, now_ns=10**9)] == [GREEN] * 9
    (answer,) = rig.send(frame(kind=4))
    assert colours_of(answer)[1] == 7  # index out of range: the destination is unchanged
    assert rig.control.faults == {"meter index out of range": 1}


@pytest.mark.parametrize("engine", ENGINES)
def test_direct_meters_colour_hits_before_the_action(engine: str) -> None:
    """In packets; the colour is written whether or not the entry's action reads it, and on a miss nothing is."""
    source = random.Random(6)
    rig = ControlRig(engine)
    table = rig.tables["pace"].id
    wanted = config((1 / 1024, 2), (1 / 256, 3))
    for key, action in ((1, "I.note"), (2, "I.nothing")):
        entry = TableEntry((Range(1, key, key),), 5, rig.actions[action], (), meter=wanted)
        rig.insert("pace", entry)
        plain, seen = PlainMeter(wanted), set()
        for now in times(source, 40):
            (answer,) = rig.send(frame(key), now_ns=now)
            assert colours_of(answer)[0] == plain.colour(1, now)
            seen.add(colours_of(answer)[0])
        assert seen == {GREEN, YELLOW, RED}
    assert colours_of(rig.send(frame(3))[0])[0] == 0
    found = list(rig.control.entries(table))
    assert [e.meter for e in found] == [wanted, wanted]
    assert [e.counter for e in found] == [CounterValue(40, 40 * FRAME_BYTES)] * 2
    rig.control.modify_entry(table, TableEntry((Range(1, 1, 1),), 5, rig.actions["I.note"], ()))
    assert [colours_of(a)[0] for a in rig.send(*[frame(1)] * 9, now_ns=10**9)] == [GREEN] * 9
    assert rig.control.entry(table, TableEntry((Range(1, 1, 1),), 5, 0, ())).meter is None


def test_meters_that_are_refused() -> None:
    rig = ControlRig("llvm")
    meter = rig.view.meters[0].id
    for wrong, code in (
        (lambda: rig.control.write_meter(meter, 0, config((2, 1), (1, 1))), Code.INVALID_ARGUMENT),
        (lambda: rig.control.write_meter(meter, 0, config((-1, 1), (1, 1))), Code.INVALID_ARGUMENT),
        (lambda: rig.control.write_meter(meter, 4, None), Code.OUT_OF_RANGE),
        (lambda: rig.control.read_meter(1, 0), Code.NOT_FOUND),
        (
            lambda: rig.insert("idle", TableEntry((), 0, rig.actions["I.nothing"], (), meter=config((1, 1), (1, 1)))),
            Code.INVALID_ARGUMENT,
        ),
    ):
        with pytest.raises(ControlError) as refused:
            wrong()
        assert refused.value.code is code
    assert Rate.per_second(1_500_000, 7) == Rate(1.5, 7)


@pytest.mark.parametrize("engine", ENGINES)
def test_digests_wait_in_a_bounded_queue(engine: str) -> None:
    rig = ControlRig(engine)
    digest = rig.view.digests[0].id
    rig.send(*(frame(key) for key in (5, 6, 7)))
    assert rig.control.take_digests(digest, 2) == [(5, 0), (6, 0)]
    rig.send(frame(8))
    assert rig.control.take_digests(digest, 10) == [(7, 0), (8, 0)]
    assert rig.control.take_digests(digest, 10) == []
    for start in range(0, DIGEST_SAMPLES + 100, 100):
        rig.send(*(frame(start + i) for i in range(100)))
    taken = rig.control.take_digests(digest, 10_000)
    assert [sample[0] for sample in taken] == list(range(DIGEST_SAMPLES))
    assert rig.control.drops["digest queue full"] > 0
    rig.send(frame(9))
    assert rig.control.take_digests(digest, 10) == [(9, 0)]
    with pytest.raises(ControlError, match="no digest"):
        rig.control.take_digests(1, 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_value_sets_steer_the_parser(engine: str) -> None:
    """What the set knows gets ``other`` 0xffff."""
    rig = ControlRig(engine)
    value_set = rig.view.value_sets[0].id

    def marked(*kinds: int) -> list[bool]:
        return [a[3:5] == b"\xff\xff" for a in rig.send(*(frame(kind=kind) for kind in kinds))]

    assert marked(0, 1) == [False, False]
    members = [ValueSetMember((3,)), ValueSetMember((200,))]
    rig.control.set_value_set(value_set, members)
    assert marked(0, 3, 200, 201) == [False, True, True, False]
    assert rig.control.value_set(value_set) == tuple(members)
    rig.control.set_value_set(value_set, [ValueSetMember((0,)), ValueSetMember((0,))])
    assert marked(0, 3) == [True, False]
    rig.control.set_value_set(value_set, [])
    assert marked(0) == [False]
    for wrong, code in (
        (lambda: rig.control.set_value_set(value_set, [ValueSetMember((i,)) for i in range(5)]), 8),
        (lambda: rig.control.set_value_set(value_set, [ValueSetMember((256,))]), Code.INVALID_ARGUMENT),
        (lambda: rig.control.set_value_set(value_set, [ValueSetMember((1, 2))]), Code.INVALID_ARGUMENT),
        (lambda: rig.control.set_value_set(1, []), Code.NOT_FOUND),
    ):
        with pytest.raises(ControlError) as refused:
            wrong()
        assert refused.value.code == code


@pytest.mark.parametrize("engine", ENGINES)
def test_entries_remember_when_they_were_hit(engine: str) -> None:
    rig = ControlRig(engine)
    table, nothing = rig.tables["idle"].id, rig.actions["I.nothing"]
    for value, length in ((0x1200, 8), (0x1234, 16)):
        entry = TableEntry((Lpm(1, value, length),), 0, nothing, (), idle_timeout_ns=10**9, last_hit_ns=77)
        rig.insert("idle", entry)
    rig.send(frame(0x1201), now_ns=5000)
    rig.send(frame(0x1234), frame(0x9999), now_ns=6000)
    assert [(e.idle_timeout_ns, e.last_hit_ns) for e in rig.control.entries(table)] == [(10**9, 5000), (10**9, 6000)]


def test_clone_sessions_are_kept() -> None:
    for engine in ENGINES:
        control = ControlRig(engine).control
        session = CloneSession(7, ((1, 0), (2, 9)), 128)
        control.set_clone_session(session)
        assert control.clone_sessions() == {7: session}
        control.delete_clone_session(7)
        for wrong, code in (
            (lambda control=control: control.delete_clone_session(7), Code.NOT_FOUND),
            (lambda control=control: control.set_clone_session(CloneSession(32_768, ())), Code.OUT_OF_RANGE),
        ):
            with pytest.raises(ControlError) as refused:
                wrong()
            assert refused.value.code is code


@pytest.mark.parametrize("engine", ENGINES)
def test_all_match_kinds_in_one_table(engine: str) -> None:
    """Range, optional and ternary keys with priorities; the winner's counter tells who it was."""
    rig = ControlRig(engine)
    table, nothing = rig.tables["pace"].id, rig.actions["I.nothing"]
    entries = [
        TableEntry((Range(1, 10, 20), Optional(2, 3)), 4, nothing, ()),
        TableEntry((Range(1, 15, 0xFFFF),), 5, nothing, ()),
        TableEntry((Ternary(3, 0x0100, 0xFF00),), 9, nothing, ()),
        TableEntry((), 1, nothing, ()),
    ]
    for entry in entries:
        rig.insert("pace", entry)
    rig.send(frame(10, 3), frame(10, 4), frame(20, 3), frame(12, 3, 0x01FF), frame(9))
    found = {(e.match, e.priority): e.counter.packets for e in rig.control.entries(table) if e.counter is not None}
    assert [found[e.match, e.priority] for e in entries] == [1, 1, 1, 2]
    for match in ((Range(1, 3, 2),), (Range(1, 0, 65_536),), (Exact(1, 3),), (Lpm(3, 0, 1),), (Optional(2, 256),)):
        with pytest.raises(ControlError) as refused:
            rig.insert("pace", TableEntry(match, 1, nothing, ()))
        assert refused.value.code is Code.INVALID_ARGUMENT
    assert value_of(rig.send(frame(value=5))[0]) == 5
