"""The bytes at each rank's port are those of the README's table: plans played in virtual time, without loss.

Acknowledgements are apart from the formulas: how many there are depends on how frames are batched on the way.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from dataclasses import dataclass, replace
from math import ceil

import pytest
import torch

from hostagent.protocol.messages import COLLECTIVE_TAGS, REQUEST_FIELDS, Message, message_request_of
from hostagent.protocol.messages.frames import ACKNOWLEDGEMENT, ACKNOWLEDGEMENT_FRAME_BYTES
from hostagent.protocol.worker.header import KIND_AT
from hostagent.torch_backend import plans
from hostagent.torch_backend.plans import Member, Plan
from hostagent.torch_backend.tensors import Reduction
from tests.labs import message_core, protocol
from tests.labs.links import NEVER_NS, Links
from tests.oracles.volumes import Volume, Volumes

LANES, SIZE, WINDOW = 64, 4, 16
SUM = Reduction("SUM")
Measured = list[Volume]
"""Of each rank: bytes up, bytes down."""


class CountedLinks(Links):
    """Links that count bytes: of acknowledgements apart."""

    volume: Counter[int]
    acknowledgements: Counter[int]

    def send(self, to: int, frame: bytes, now_ns: int) -> None:
        if frame[KIND_AT] == ACKNOWLEDGEMENT:
            self.acknowledgements[to] += len(frame)
        else:
            self.volume[to] += len(frame)
        super().send(to, frame, now_ns)


def counted(links: Links) -> CountedLinks:
    links.__class__ = CountedLinks
    assert isinstance(links, CountedLinks)
    links.volume, links.acknowledgements = Counter(), Counter()
    return links


def measured(made: list[Plan]) -> Measured:
    """What one call of every rank sends and receives, without acknowledgements."""
    total = [[0, 0] for _ in made]
    for links in (sums(made), messages(made)):
        for rank in range(len(made)):
            total[rank][0] += links.volume[-1 - rank]
            total[rank][1] += links.volume[rank]
            frames = links.acknowledgements[rank] // ACKNOWLEDGEMENT_FRAME_BYTES
            assert frames * ACKNOWLEDGEMENT_FRAME_BYTES == links.acknowledgements[rank]
            assert frames <= ceil(links.volume[-1 - rank] / Volumes.short)
    return [(up, down) for up, down in total]


def sums(made: list[Plan]) -> CountedLinks:
    lab = protocol.make_lab(protocol.Schedule(seed=0, workers=SIZE, window=WINDOW, lanes=LANES))
    links = counted(lab.network)
    for rank, plan in enumerate(made):
        for operation in plan.operations:
            lab.cores[rank].submit(operation)
        lab.pump(rank)
    while lab.finished != [len(plan.operations) for plan in made]:
        assert lab.step()
    while lab.network.next_ns() < NEVER_NS:
        lab.step()
    return links


def messages(made: list[Plan]) -> CountedLinks:
    lab, _ = message_core.make_lab(message_core.Schedule(workers=SIZE, lanes=LANES, budget=64))
    links = counted(lab.network)
    for rank, plan in enumerate(made):
        for message in sorted(plan.messages, key=lambda each: not each.receives):
            tagged = replace(message, tag=COLLECTIVE_TAGS) if message.tag is None else message
            submit(lab.cores[rank], tagged)
        lab.pump(rank)
    while [len(ended) for ended in lab.ended] != [len(plan.messages) for plan in made]:
        assert lab.step()
    return links


def submit(core: message_core.MessageCore, message: Message) -> None:
    core._numbers += 1
    values = message_request_of(message, core._numbers)
    assert core._submit(**dict(zip(REQUEST_FIELDS, values, strict=True))) == core._numbers


@dataclass(frozen=True, slots=True)
class Case:
    """A call with tensors of ``count`` elements."""

    count: int
    dtype: torch.dtype

    def tensor(self, parts: int = 1) -> torch.Tensor:
        return torch.ones(parts * self.count, dtype=self.dtype)

    def tensors(self) -> list[torch.Tensor]:
        return list(torch.ones(SIZE, self.count, dtype=self.dtype))

    @property
    def formulas(self) -> Volumes:
        return Volumes(SIZE, LANES, self.count, self.dtype, WINDOW)


CASES = [Case(1, torch.int32), Case(900, torch.int32), Case(5000, torch.float32)]


def played(plan_of) -> Measured:
    return measured([plan_of(Member(rank, SIZE)) for rank in range(SIZE)])


def expected(formula, *arguments: int) -> Measured:
    return [formula(rank, *arguments) for rank in range(SIZE)]


@pytest.mark.parametrize("case", CASES)
def test_sums(case):
    summed = expected(case.formulas.all_reduce)
    assert played(lambda member: plans.all_reduce(case.tensor(), SUM, member)) == summed
    reduced = played(lambda member: plans.reduce(case.tensor(), 1, SUM, member))
    assert reduced == expected(case.formulas.reduce, 1)
    scattered = played(lambda member: plans.reduce_scatter(case.tensor(), case.tensors(), SUM, member))
    assert scattered == expected(case.formulas.reduce_scatter)


@pytest.mark.parametrize("case", CASES)
def test_moves_by_sums(case):
    assert played(lambda member: plans.broadcast(case.tensor(), 2, member)) == expected(case.formulas.broadcast, 2)
    gathered = played(lambda member: plans.all_gather_single(case.tensor(SIZE), case.tensor(), member))
    assert gathered == expected(case.formulas.all_gather)
    assert played(lambda member: plans.barrier()) == expected(case.formulas.barrier)


@pytest.mark.parametrize("case", CASES)
def test_messages(case):
    gathered = played(lambda member: plans.gather(case.tensors() if member.rank == 1 else [], case.tensor(), 1, member))
    assert gathered == expected(case.formulas.gather, 1)
    scattered = played(
        lambda member: plans.scatter(case.tensor(), case.tensors() if member.rank == 1 else [], 1, member)
    )
    assert scattered == expected(case.formulas.scatter, 1)
    exchanged = played(lambda member: plans.all_to_all(case.tensors(), case.tensors(), member))
    assert exchanged == expected(case.formulas.all_to_all)

    def pair(member: Member) -> Plan:
        if member.rank == 0:
            return plans.send(case.tensor(), 3, 7, member)
        return plans.receive(case.tensor(), 0, 7, member) if member.rank == 3 else Plan()

    assert played(pair) == expected(case.formulas.send, 0, 3)


def test_uneven_parts():
    message_bytes = Volumes(SIZE, LANES, 1, torch.float32).message_bytes

    def plan(member: Member) -> Plan:
        inputs = [torch.ones(100 * (member.rank + 2 * peer)) for peer in range(SIZE)]
        outputs = [torch.ones(100 * (peer + 2 * member.rank)) for peer in range(SIZE)]
        return plans.all_to_all(outputs, inputs, member)

    sizes = [[400 * (rank + 2 * peer) for peer in range(SIZE)] for rank in range(SIZE)]
    up = [sum(message_bytes(sizes[rank][peer]) for peer in range(SIZE) if peer != rank) for rank in range(SIZE)]
    down = [sum(message_bytes(sizes[peer][rank]) for peer in range(SIZE) if peer != rank) for rank in range(SIZE)]
    assert played(plan) == list(zip(up, down, strict=True))


@pytest.mark.parametrize("rank", range(2))
def test_a_reduction_of_complex_numbers_is_one_of_their_parts(rank):
    [operation] = plans.reduce(torch.ones(5, dtype=torch.complex64), 1, SUM, Member(rank, 2)).operations
    assert (operation.elements, operation.input.count, operation.root) == (10, 10, 1)


def test_sources_are_noted_in_memory_that_lives_as_long_as_the_receive():
    """A plan has one such place, so none for the many receives of an exchange."""
    tensors = [torch.ones(3) for _ in range(SIZE)]
    exchanges = (
        plans.all_to_all(tensors, tensors, Member(0, SIZE)),
        plans.gather(tensors, tensors[0], 0, Member(0, SIZE)),
    )
    assert {message.source_address for plan in exchanges for message in plan.messages} == {0}
    plan = plans.receive(tensors[0], 1, 0, Member(0, SIZE))
    assert plan.source is not None
    assert plan.messages[0].source_address == ctypes.addressof(plan.source)
