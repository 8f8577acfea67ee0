"""What the loop over a batch counts for the tenants' shares, and where a chunk's set lies."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from hostagent.protocol.reference import ReferenceChild, ReferenceJob
from hostagent.protocol.wire import LANES_AT, Operator
from hostagent.protocol.worker.header import OPERATOR_AT
from hostagent.rackserver.frames.loops import set_index
from hostagent.rackserver.frames.validate import SERVED
from hostagent.rackserver.tenants.fair_queueing import FairQueues, count_frames, set_allowances
from tests.labs.rack_aggregator import RackAggregator, terms_of

LANES, WINDOW = 64, 16
JOBS = {
    number: ReferenceJob(1, WINDOW, (ReferenceChild(port, 0x020000000001, 0x0A000001),))
    for number, port in ((7, 0), (8, 2))
}


def frame_of(operator: int, length: int = LANES_AT) -> bytes:
    """Of no job: whoever sent it, it is work."""
    frame = bytearray(length)
    frame[OPERATOR_AT] = operator
    return bytes(frame)


def test_frames_are_counted_for_the_tenant_of_their_port_in_any_order() -> None:
    plain, served, stump = frame_of(Operator.SUM), frame_of(SERVED), frame_of(SERVED, LANES_AT - 1)
    aggregator = RackAggregator(LANES)
    for place, (number, job) in enumerate(JOBS.items()):
        terms = replace(terms_of(number, job, LANES), first_slot=place * WINDOW)
        aggregator.server.install(terms)
    frames = [(0, plain)] * 3 + [(2, served)] * 2 + [(0, served), (1, plain), (2, stump), (0, plain), (0, plain)]
    aggregator.receive_all(frames)
    expected = FairQueues()
    expected.arrange([(1, {0}), (1, {2})])
    count_frames(expected.address, 0, 6, 1)
    count_frames(expected.address, 2, 3, 2)
    set_allowances(expected.address)
    assert aggregator.server.fair_queues.allowances.tolist() == expected.allowances.tolist()
    assert aggregator.server.fair_queues.allowances[0] != aggregator.server.fair_queues.allowances[2]


@pytest.mark.parametrize("window", [1, 16])
def test_a_slot_has_two_sets_and_no_set_two_slots(window: int) -> None:
    holder = SimpleNamespace(first_slot=48, window=window)
    places = [set_index.py_func(holder, chunk) for chunk in range(4 * window)]
    assert sorted(places[: 2 * window]) == list(range(96, 96 + 2 * window))
    assert places[2 * window :] == places[: 2 * window]
