"""A frame with the head of an accepted one is accepted at a glance, and nothing is that would not be otherwise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.reference import ReferenceChild, ReferenceJob
from hostagent.protocol.wire import Header, Kind, Operator
from tests.labs.rack_aggregator import RackAggregator, terms_of

LANES, NUMBER = 64, 7
JOB = ReferenceJob(1, 32, tuple(ReferenceChild(n, 0x020000000001 + n, 0x0A000001 + n) for n in range(2)))


def contribution(chunk: int, *, epoch: int = 1, checksum: bool = False) -> bytes:
    """Child 0's."""
    child = JOB.children[0]
    header = Header(Kind.CONTRIBUTION, NUMBER, 0, epoch, chunk, 5, Operator.SUM, lanes=LANES)
    ends = Addresses(child.mac, JOB.switch_mac, child.ip, JOB.switch_ip)
    return build_frame(Frame(ends, header, np.arange(LANES, dtype=np.uint32), checksum))


@pytest.fixture
def server() -> RackAggregator:
    """One that has accepted a frame of child 0."""
    made = RackAggregator(LANES, ports=2)
    made.server.install(terms_of(NUMBER, JOB, LANES))
    made.receive(0, contribution(0))
    assert accepted(made) == 1
    return made


def accepted(server: RackAggregator) -> int:
    return server.server.counters(NUMBER).frames.get("accepted", 0)


def test_the_next_chunk_is_accepted(server: RackAggregator) -> None:
    server.receive(0, contribution(1))
    assert accepted(server) == 2
    assert server.server.drops() == {}


@pytest.mark.parametrize(
    ("reason", "port", "frame"),
    [
        ("child", 1, contribution(1)),
        ("length", 0, contribution(1) + bytes(4)),
        ("length", 0, contribution(1)[:-4]),
        ("epoch", 0, contribution(1, epoch=2)),
    ],
)
def test_what_is_not_in_the_head_counts(server: RackAggregator, reason: str, port: int, frame: bytes) -> None:
    server.receive(port, frame)
    assert server.server.drops() == {reason: 1}
    assert accepted(server) == 1


def test_other_terms_of_the_job_count_from_the_next_frame_on(server: RackAggregator) -> None:
    strict = replace(JOB, epoch=2, children=tuple(replace(c, zero_checksum_allowed=False) for c in JOB.children))
    server.server.install(terms_of(NUMBER, strict, LANES))
    server.receive(0, contribution(1))
    server.receive(0, contribution(1, epoch=2))
    assert server.server.drops() == {"checksum": 2}
    server.receive(0, contribution(0, epoch=2, checksum=True))
    damaged = bytearray(contribution(1, epoch=2, checksum=True))
    damaged[-1] ^= 1
    server.receive(0, bytes(damaged))
    assert server.server.drops() == {"checksum": 3}
    assert accepted(server) == 2
