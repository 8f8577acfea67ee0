"""Contributions that are added several at a time give the sum, or the maximum, of all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from emulator.native.pages import address_of
from hostagent.protocol.frames import Addresses, Frame, build_frame, parse_frame
from hostagent.protocol.reference import ReferenceChild, ReferenceJob
from hostagent.protocol.wire import Header, Kind, Operator
from hostagent.rackserver.compiled_calls import COUNT_SHIFT, HAS_DATA, IS_LAST, IS_MAXIMUM
from hostagent.rackserver.frames.lanes import combine
from tests.labs.rack_aggregator import RackAggregator, terms_of

LANES = 37
rng = np.random.default_rng(3)


@pytest.mark.parametrize("maximum", [0, IS_MAXIMUM])
def test_any_number_at_once_with_and_without_what_was_there(maximum: int) -> None:
    for count, before, last in itertools.product(range(5), (0, HAS_DATA), (0, IS_LAST)):
        given = rng.integers(-(2**31), 2**31, (4, LANES)).astype(np.int32)
        travelling = given.astype(">i4")
        table = np.array([address_of(row) for row in travelling], np.int64)
        held = rng.integers(-(2**31), 2**31, LANES).astype(np.int32)
        parts = [*given[:count], *([held.copy()] if before else [])]
        combine(address_of(held), address_of(table), before | last | maximum | count << COUNT_SHIFT, 0, LANES)
        if not parts:
            continue
        expected = np.max(parts, axis=0) if maximum else np.sum(parts, axis=0, dtype=np.int32)
        assert (held.view(">i4") if last else held).tolist() == expected.tolist()


@pytest.mark.parametrize("operator", [Operator.SUM, Operator.MAX])
def test_one_batch_or_many_give_the_same_results(operator: Operator) -> None:
    workers, chunks, lanes = 7, 8, 64
    job = ReferenceJob(1, 8, tuple(ReferenceChild(n, 0x020000000001 + n, 0x0A000001 + n) for n in range(workers)))
    numbers = rng.integers(0, 2**32, (chunks, workers, lanes), np.uint32)
    frames = []
    for chunk, (number, child) in itertools.product(range(chunks), enumerate(job.children)):
        header = Header(Kind.CONTRIBUTION, 7, number, 1, chunk, 5, operator, lanes=lanes)
        addresses = Addresses(child.mac, job.switch_mac, child.ip, job.switch_ip)
        frames.append((number, build_frame(Frame(addresses, header, numbers[chunk, number]))))
    rng.shuffle(frames)
    for size in (len(frames), 5, 1):
        aggregator = RackAggregator(lanes, ports=workers)
        aggregator.server.install(terms_of(7, job, lanes))
        answers = [
            answer
            for first in range(0, len(frames), size)
            for answer in aggregator.receive_all(frames[first : first + size])
        ]
        results = {(port, parse_frame(data).header.chunk): parse_frame(data).lanes for port, data in answers}
        assert len(results) == len(answers) == workers * chunks
        for (_, chunk), result in results.items():
            signed = numbers[chunk].view(np.int32)
            expected = signed.max(axis=0) if operator is Operator.MAX else signed.sum(axis=0, dtype=np.int32)
            assert result.view(np.int32).tolist() == expected.tolist()
