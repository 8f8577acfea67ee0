"""Random packets, rates and depths: both engines leave packets as a plain model says, whenever they are called.

The model keeps lists and nothing else: for each queue the times of its packets, looked through each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.v1model.compiled import CompiledProgram, compile_program
from emulator.v1model.metadata import Drop
from tests.labs.extent import tries
from tests.programs.p4_programs import HandMade, Rig
from tests.programs.queue_program import Seen, asked, at_times, queue_program

PORTS, PRIORITIES = (1, 2), 3
RATES = (0, 1, 700, 1_000, 3_333, 10**9)
Place = tuple[int, int]


@cache
def compiled(engine: str) -> CompiledProgram:
    return compile_program(HandMade(queue_program(qid=True)), engine=engine)


@dataclass
class Packet:
    number: int
    place: Place
    enters_ns: int
    leaves_ns: int
    depth: int


def model(
    arrivals: list[tuple[int, list[tuple[int, int]]]], rates: dict[Place, int], depths: dict[Place, int]
) -> tuple[dict[int, list[Seen]], dict[str, int]]:
    packets: list[Packet] = []
    drops: dict[str, int] = {}
    number = 0
    for now_ns, frames in arrivals:
        for port, priority in frames:
            number += 1
            if priority >= PRIORITIES:
                drops[Drop.PRIORITY.words] = drops.get(Drop.PRIORITY.words, 0) + 1
                continue
            mine = [p for p in packets if p.place == (port, priority)]
            waiting = sum(p.leaves_ns > now_ns for p in mine)
            if waiting >= depths[port, priority]:
                drops[Drop.EGRESS_QUEUE_FULL.words] = drops.get(Drop.EGRESS_QUEUE_FULL.words, 0) + 1
                continue
            rate = rates[port, priority]
            gap_ns = 10**9 // rate if rate else 0
            leaves_ns = max(now_ns, mine[-1].leaves_ns + gap_ns) if mine else now_ns
            packets.append(Packet(number, (port, priority), now_ns, leaves_ns, waiting))

    def order(p: Packet) -> tuple[int, bool, int, int]:
        at_once = p.enters_ns == p.leaves_ns
        return p.leaves_ns, at_once, 0 if at_once else -p.place[1], p.number

    left: dict[int, list[Seen]] = {}
    for p in sorted(packets, key=order):
        behind = sum(q.place == p.place and q.number > p.number and q.enters_ns < p.leaves_ns for q in packets)
        entered_us, left_us = p.enters_ns // 1000, p.leaves_ns // 1000
        found = Seen(p.number, entered_us, p.depth, left_us - entered_us, behind, left_us, p.place[1])
        left.setdefault(p.place[0], []).append(found)
    return left, drops


def places(values: st.SearchStrategy[int]) -> st.SearchStrategy[dict[Place, int]]:
    return st.fixed_dictionaries({(port, priority): values for port in PORTS for priority in range(PRIORITIES)})


batches = st.lists(
    st.tuples(
        st.sampled_from((0, 1, 999, 1_000, 250_000, 1_000_000, 5_000_001)),
        st.lists(st.tuples(st.sampled_from(PORTS), st.integers(0, PRIORITIES)), min_size=1, max_size=12),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=tries(20, 60), deadline=None)
@given(batches=batches, rates=places(st.sampled_from(RATES)), depths=places(st.integers(0, 6)), every=st.booleans())
def test_packets_leave_as_the_model_says(
    batches: list[tuple[int, list[tuple[int, int]]]], rates: dict[Place, int], depths: dict[Place, int], every: bool
) -> None:
    now_ns, number, arrivals, sent = 0, 0, [], []
    for gap_ns, frames in batches:
        now_ns += gap_ns
        arrivals.append((now_ns, frames))
        sent.append((now_ns, [asked(number=number + i, port=port, priority=priority)
                              for i, (port, priority) in enumerate(frames, 1)]))  # fmt: skip
        number += len(frames)
    expected = model(arrivals, rates, depths)
    for engine in ("interpreter", "llvm"):
        rig = Rig(compiled(engine), engine, cells=128)
        rig.switch.set_priority_queues(PRIORITIES)
        for place in rates:
            rig.switch.set_queue_rate(rates[place], *place)
            rig.switch.set_queue_depth(depths[place], *place)
        left = at_times(rig, sent, every_timer=every)
        seen = {port: [Seen.read(frame) for frame in frames] for port, frames in left.items()}
        assert (seen, dict(rig.switch.drops)) == expected, engine
