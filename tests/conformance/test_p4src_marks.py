"""p4src/shared/marks.p4 in both programs, on both engines: queues mark what can be marked and drop the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from emulator.ports.batch import FrameBatch
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.spec import parse_port
from emulator.switch.control import Exact, TableEntry
from emulator.switch.core import Switch
from emulator.v1model.compiled import CompiledProgram, load
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.protocol.frames import Addresses, Frame, build_frame, ones_complement_sum, parse_frame
from hostagent.protocol.wire import ECN_MARKED, Header, Kind, Operator
from tests.labs.p4_aggregator import P4Aggregator

ENGINES = pytest.mark.parametrize("engine", ["llvm", "interpreter"])
LEAST = 2
"""Packets in a queue: what finds more is marked. The first one that comes leaves at once."""
SECOND = 1_000_000_000
CAPABLE, NOT_CAPABLE = 2, 0
HEADER = Header(Kind.CONTRIBUTION, 1, 0, 1, 0, 0, Operator.SUM)
LANES = np.ones(64, np.uint32)


def mark_with(switch: Switch, program: CompiledProgram, port: int) -> None:
    """One packet a second leaves the port's queue, which marks what finds more than LEAST in it."""
    (table,) = (each for each in program.p4info.tables if each.preamble.name.endswith("marks.queues"))
    (action,) = (each for each in program.p4info.actions if each.preamble.name.endswith("mark_between"))
    entry = TableEntry((Exact(table.match_fields[0].id, port),), 0, action.preamble.id, (LEAST, LEAST))
    switch.insert_entry(table.preamble.id, entry)
    switch.set_queue_rate(1, port)


def frame(ecn: int, source: int = 1) -> bytes:
    return build_frame(Frame(Addresses(source, 9, source, 9), replace(HEADER, child=source - 1), LANES, ecn=ecn))


@ENGINES
def test_a_bridge_marks_and_drops_what_finds_a_long_queue(engine: str) -> None:
    program, switch = load("bridge.p4", {}, engine=engine), Switch()
    ports = {number: MemoryPort(parse_port(f"{number}=memory:lab"), switch.ports) for number in (1, 257)}
    switch.load(program)
    mark_with(switch, program, 1)
    batch = FrameBatch(8)
    arp = bytes(12) + b"\x08\x06" + bytes(28)
    ecns = (CAPABLE, NOT_CAPABLE, CAPABLE, CAPABLE, CAPABLE, NOT_CAPABLE)
    for each in (*map(frame, ecns), arp):
        batch.append(each, 257)
    left = []
    for second in range(len(ecns) + 1):
        switch.process(batch, second * SECOND)
        batch.clear()
        ports[1].flush()
        left += ports[1].received()
    assert left.pop() == arp
    assert [each[15] & 3 for each in left] == [CAPABLE, NOT_CAPABLE, CAPABLE, CAPABLE, ECN_MARKED]
    assert all(ones_complement_sum(each[14:34]) == 0xFFFF for each in left)


def test_an_aggregator_marks_results_and_tells_all_of_a_marked_contribution() -> None:
    program = load("allreduce.p4", {"LANES": "64"})
    aggregator = P4Aggregator(program, 2)
    children = tuple(Child(rank, rank, 1 + rank, 1 + rank, True) for rank in range(2))
    aggregator.install(JobConfig(1, 0, 1, 0, 8, 0, True, 9, 9, children))
    assert aggregator.receive(0, frame(ECN_MARKED, 1)) == []
    results = [parse_frame(data) for _, data in aggregator.receive(1, frame(CAPABLE, 2))]
    assert [result.ecn for result in results] == [ECN_MARKED] * 2
    mark_with(aggregator.switch, program, 1)
    answers = [answer for _ in range(5) for answer in aggregator.receive(1, frame(CAPABLE, 2))]
    for second in range(1, 6):
        answers += aggregator.receive_all([], second * SECOND)
    assert [parse_frame(data).ecn for _, data in answers] == [CAPABLE] * 4 + [ECN_MARKED]
