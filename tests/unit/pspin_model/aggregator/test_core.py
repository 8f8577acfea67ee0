"""The PsPIN switch as an aggregator: its answers are those of the rule, and its refusals name the cause."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.spec import parse_port
from hostagent.cli.aggregators.reference_core import ReferenceCore
from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.services.aggregator import AggregatorRefused, ChildTerms, JobTerms, ServiceTerms
from hostagent.protocol.wire import FLAG_NO_DATA, FLAG_SHORT_RESULT, LANE_BYTES, LANES_AT, Header, Kind, Operator
from pspin_model.aggregator import PspinAggregator

LANES, WINDOW = 64, 8
MICROSECOND_NS = 1000

CHILDREN = tuple(
    ChildTerms(number, number, number + 1, 0x0200_0000_0100 + number, 0x0A00_0100 + number, bool(number % 2))
    for number in range(3)
)
TERMS = JobTerms(
    job=300,
    epoch=70,
    base=4,
    window_log2=3,
    first_slot=16,
    lanes=LANES,
    children=CHILDREN,
    aggregator_mac=0x0200_0000_00FE,
    aggregator_ip=0x0A00_00FE,
)


class Rig:
    """A core between memory ports."""

    def __init__(self, make: type[PspinAggregator] | type[ReferenceCore]) -> None:
        table = TxPortTable()
        self.core = make(lanes=LANES, slots=64, ports=table)
        if isinstance(self.core, ReferenceCore):
            self.core.rule.reports_nearby = False  # handlers do not report nearby slots
        self.ports = [MemoryPort(parse_port(f"{child.port}=memory:lab"), table) for child in CHILDREN]
        self.core.install(TERMS)

    def answers(self, frames: list[tuple[int, bytes]], now_ns: int) -> list[tuple[int, bytes]]:
        """All that comes of a batch."""
        batch = FrameBatch()
        for port, frame in frames:
            batch.append(frame, port)
        due_ns = self.core.process(batch, now_ns)
        while due_ns is not None:
            due_ns = self.core.process(FrameBatch(), due_ns)
        for memory_port in self.ports:
            memory_port.flush()
        return sorted((port.number, frame) for port in self.ports for frame in port.received())


def contribution(sender: ChildTerms, number: int, values: np.random.Generator, **change: int) -> bytes:
    header = Header(Kind.CONTRIBUTION, TERMS.job, sender.child, TERMS.epoch, number, operation=9)
    header = replace(header, **change)
    lanes = values.integers(0, 1 << 32, LANES, np.uint64).astype(np.uint32)
    if header.flags & FLAG_NO_DATA and number % 2:
        lanes = lanes[:0]
    addresses = Addresses(sender.mac, TERMS.aggregator_mac, sender.ip, TERMS.aggregator_ip)
    return build_frame(Frame(addresses, header, lanes, not sender.zero_checksum_allowed))


def drawn(rng: random.Random, values: np.random.Generator, lowest: int) -> tuple[int, bytes]:
    """A contribution near the window, now and then one that does not belong, and now and then a damaged one."""
    child, chunk = rng.choice(CHILDREN), lowest + rng.randrange(2 * WINDOW)
    operator = Operator.MAX if chunk % 5 == 0 else Operator.SUM
    change: dict[str, int] = {"operator": operator}
    if operator == Operator.SUM and rng.random() < 0.3:
        change["flags"] = FLAG_NO_DATA
    if rng.random() < 0.3:
        change["flags"] = change.get("flags", 0) | FLAG_SHORT_RESULT
    if rng.random() < 0.1:
        change |= rng.choice(
            [{"epoch": 69}, {"job": 5}, {"child": 7}, {"kind": 1}, {"operator": 2}, {"chunk": lowest + 90}]
        )
    if rng.random() < 0.03:
        change["operation"] = 10
    frame = bytearray(contribution(child, change.pop("chunk", chunk), values, **change))
    if rng.random() < 0.03:
        frame[rng.randrange(14, len(frame))] ^= 1 << rng.randrange(8)
    port = child.port if rng.random() < 0.97 else child.port % len(CHILDREN) + 1
    return port, bytes(frame)


def test_every_frame_is_answered_as_the_rule_says() -> None:
    rng, values = random.Random(5), np.random.default_rng(5)
    reference, pspin = Rig(ReferenceCore), Rig(PspinAggregator)
    for step in range(1200):
        frame = drawn(rng, values, TERMS.base + step // 60)
        now_ns = step * 10 * MICROSECOND_NS
        assert pspin.answers([frame], now_ns) == reference.answers([frame], now_ns), step
    wanted, found = reference.core.counters(TERMS.job), pspin.core.counters(TERMS.job)
    assert found.frames == wanted.frames
    assert found.bytes == wanted.bytes
    assert {"completed", "served_again", "waiting", "mismatch", "error", "outside_window"} <= found.frames.keys()
    assert sum(pspin.core.drops().values()) == sum(reference.core.drops().values()) > 0
    assert pspin.core.drops()["epoch"] == reference.core.drops()["epoch"]


def test_a_batch_is_summed_to_the_same_bits_in_any_order() -> None:
    results = []
    for seed in range(2):
        rig, values = Rig(PspinAggregator), np.random.default_rng(6)
        frames = [
            (child.port, contribution(child, TERMS.base + chunk, values))
            for chunk in range(WINDOW)
            for child in CHILDREN
        ]
        random.Random(seed).shuffle(frames)
        results.append(rig.answers(frames, 0))
        told: Any = rig.core.statistics()
        assert told["packets"] == told["sent"] == len(frames)
        assert told["faults"] == 0
        what, cost = told["summary"]
        assert what.startswith(f"{len(frames)} packets of {len(frames[0][1])} bytes ({LANES} lanes) in ")
        assert "waiting for its slot's lock and for the results that it sends included" in cost
        assert sum(cycles > 0 for cycles in told["core_busy_cycles"]) > 1
    assert results[0] == results[1]
    assert len(results[0]) == WINDOW * len(CHILDREN)


def test_lanes_that_nobody_needs_are_neither_sent_nor_paid_for() -> None:
    lanes_sent, cycles = [], []
    for short in range(len(CHILDREN) + 1):
        rig, values = Rig(PspinAggregator), np.random.default_rng(8)
        for child in CHILDREN:
            flags = FLAG_SHORT_RESULT if child.child < short else 0
            answers = rig.answers([(child.port, contribution(child, TERMS.base, values, flags=flags))], 0)
        lanes_sent.append(sum(len(frame) - LANES_AT for _, frame in answers) // LANE_BYTES)
        cycles.append(float(rig.core.statistics()["handler_avg_cycles"]) * len(CHILDREN))  # type: ignore[arg-type]
    assert lanes_sent == [LANES * full for full in (3, 2, 1, 0)]
    # a lane that is sent is loaded, turned around and stored
    assert all(more - less > 3 * LANES for more, less in itertools.pairwise(cycles))


def test_sets_and_figures_outlive_the_clock_of_a_machine() -> None:
    values, rig, twin = np.random.default_rng(5), Rig(PspinAggregator), Rig(ReferenceCore)
    first, rest = CHILDREN[0], CHILDREN[1:]
    for hours in range(3):
        now_ns = hours * 3600 * 10**9
        for number in (2 * hours, 2 * hours + 1):
            early = [(first.port, contribution(first, TERMS.base + number, values))]
            late = [(each.port, contribution(each, TERMS.base + number, values)) for each in rest]
            # the set is open while the machine's clock begins again
            assert rig.answers(early, now_ns) == twin.answers(early, now_ns) == []
            later_ns = now_ns + 1800 * 10**9
            assert len(answers := rig.answers(late, later_ns)) == len(CHILDREN)
            assert answers == twin.answers(late, later_ns)
    told: Any = rig.core.statistics()
    assert told["packets"] == 3 * 2 * len(CHILDREN)
    assert 2.5 * 3600 * 10**9 < int(str(told["cycle"])) < 2.6 * 3600 * 10**9
    assert int(str(told["latency_max_cycles"])) < 10 * MICROSECOND_NS
    assert sum(told["core_busy_cycles"]) >= 3 * 2 * len(CHILDREN)


def test_a_new_epoch_voids_sets_and_a_removed_job_is_not_known() -> None:
    rig, values = Rig(PspinAggregator), np.random.default_rng(7)
    first, second, third = (child for child in CHILDREN)
    assert rig.answers([(first.port, contribution(first, 4, values))], 0) == []
    rig.core.install(replace(TERMS, epoch=71))
    again = [(child.port, contribution(child, 4, values, epoch=71)) for child in (second, third)]
    assert rig.answers(again, 0) == []
    assert len(rig.answers([(first.port, contribution(first, 4, values, epoch=71))], 0)) == 3
    rig.core.remove(TERMS.job)
    assert rig.core.installed() == {}
    assert rig.answers(again, 0) == []
    assert rig.core.drops()["job"] == 2


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"lanes": 256}, "256 lanes"),
        ({"first_slot": 60}, "requests slots 60-67, but the switch has 64"),
        ({"job": 301}, "overlap with those of job 300"),
        ({"service": ServiceTerms("tenant")}, "keeps no weights"),
    ],
)
def test_a_job_that_does_not_fit_is_refused(change: dict[str, object], why: str) -> None:
    rig = Rig(PspinAggregator)
    with pytest.raises(AggregatorRefused, match=why):
        rig.core.install(replace(TERMS, **change))  # type: ignore[arg-type]
    assert rig.core.installed() == {300: 70}


def test_slots_are_as_many_as_the_l1_memories_hold() -> None:
    assert PspinAggregator(lanes=2048, slots=512, ports=TxPortTable()).capacity.slots < 512
