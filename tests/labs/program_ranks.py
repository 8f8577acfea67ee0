"""One rank of a program of ``tests.generators.collective_programs`` on process groups, with what it must receive.

The groups are of any transport: in virtual time (``tests.labs.virtual_job``) or live.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import _make_nccl_premul_sum

from tests.generators.collective_programs import Letter, Program, Step
from tests.oracles.collectives import Expected, factor_of, inputs_of, reduced

GUARD = 77
"""What is between the elements of a tensor that is not one run of memory."""


@dataclass(slots=True)
class Outcome:
    """What a rank found."""

    problems: list[str] = field(default_factory=list)
    digests: dict[int, int] = field(default_factory=dict)
    """By step: of what every rank of its group must have, bit by bit."""


@dataclass(slots=True)
class Place:
    """A tensor that a call writes to: its elements in order, and whether the memory around them is as it was."""

    tensor: Tensor
    around: Tensor | None = None

    @property
    def flat(self) -> Tensor:
        return self.tensor.reshape(-1)

    def problem(self) -> str:
        return "memory beside the tensor was written" if self.around is not None and bool(self.changed()) else ""

    def changed(self) -> Tensor:
        assert self.around is not None
        return (self.around != torch.tensor(GUARD).to(self.around.dtype)).any()


def place(held: Tensor, layout: str = "plain") -> Place:
    """A tensor with these elements, laid out in one of LAYOUTS."""
    count = held.numel()
    if layout == "strided":
        base = torch.full((count, 2), GUARD).to(held.dtype)
        base[:, 0] = held
        return Place(base[:, 0], base[:, 1])
    if layout == "transposed" and count % 2 == 0:
        return Place(held.clone().view(2, count // 2).t().contiguous().t())
    return Place(held.clone())


def blank(count: int, dtype: str, layout: str = "plain") -> Place:
    return place(torch.full((count,), GUARD).to(getattr(torch, dtype)), layout)


Check = Callable[[], str]


@dataclass(slots=True)
class Started:
    """A step under way at one rank."""

    works: Sequence[Any]
    check: Check
    """What is wrong with what it brought, once all works are over."""
    common: Sequence[Place] = ()
    """Tensors that every rank of the group must have alike."""


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank of a group."""

    group: Any
    number: int
    size: int
    exact: bool
    lanes: int

    def given(self, step: Step) -> tuple[Tensor, ...]:
        return inputs_of(step, self.size)[self.number]

    def reduced(self, step: Step) -> tuple[Expected, ...]:
        return reduced(step, self.size, self.exact, self.lanes)


def first_problem(*checks: str) -> str:
    return next((problem for problem in checks if problem), "")


def equals(got: Place, wanted: Tensor) -> str:
    return first_problem(Expected(wanted).problem(got.flat), got.problem())


def options(kind: Any, **fields: Any) -> Any:
    made = kind()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def operator_of(step: Step) -> Any:
    if step.operator == "PREMUL_SUM":
        return _make_nccl_premul_sum(factor_of(step))
    return getattr(dist.ReduceOp, step.operator)


def all_reduce(rank: Rank, step: Step) -> Started:
    got = place(rank.given(step)[0], step.layout)
    work = rank.group.allreduce([got.tensor], options(dist.AllreduceOptions, reduceOp=operator_of(step)))
    return Started([work], lambda: first_problem(rank.reduced(step)[0].problem(got.flat), got.problem()), [got])


def all_reduce_coalesced(rank: Rank, step: Step) -> Started:
    got = [place(tensor, step.layout) for tensor in rank.given(step)]
    opts = options(dist.AllreduceCoalescedOptions, reduceOp=operator_of(step))
    work = rank.group.allreduce_coalesced([each.tensor for each in got], opts)

    def check() -> str:
        pairs = zip(rank.reduced(step), got, strict=True)
        return first_problem(*(first_problem(wanted.problem(each.flat), each.problem()) for wanted, each in pairs))

    return Started([work], check, got)


def reduce(rank: Rank, step: Step) -> Started:
    got = place(rank.given(step)[0], step.layout)
    opts = options(dist.ReduceOptions, reduceOp=operator_of(step), rootRank=step.root)
    work = rank.group.reduce([got.tensor], opts)
    if rank.number != step.root:
        return Started([work], lambda: equals(got, rank.given(step)[0]))
    return Started([work], lambda: first_problem(rank.reduced(step)[0].problem(got.flat), got.problem()))


def reduce_scatter(rank: Rank, step: Step) -> Started:
    inputs = [place(tensor, step.layout).tensor.reshape(-1) for tensor in rank.given(step)]
    got, first = blank(step.counts[rank.number], step.dtype, step.layout), sum(step.counts[: rank.number])
    opts = options(dist.ReduceScatterOptions, reduceOp=operator_of(step))
    work = rank.group.reduce_scatter([got.tensor], [inputs], opts)
    return Started([work], lambda: first_problem(rank.reduced(step)[0].problem(got.flat, first), got.problem()))


def reduce_scatter_single(rank: Rank, step: Step) -> Started:
    given, got = place(rank.given(step)[0], step.layout), blank(step.counts[0], step.dtype, step.layout)
    opts = options(dist.ReduceScatterOptions, reduceOp=operator_of(step))
    work = rank.group.reduce_scatter_single(got.tensor, given.tensor, opts)
    first = rank.number * step.counts[0]
    return Started([work], lambda: first_problem(rank.reduced(step)[0].problem(got.flat, first), got.problem()))


def broadcast(rank: Rank, step: Step) -> Started:
    got = place(rank.given(step)[0], step.layout)
    work = rank.group.broadcast([got.tensor], options(dist.BroadcastOptions, rootRank=step.root))
    return Started([work], lambda: equals(got, inputs_of(step, rank.size)[step.root][0]), [got])


def all_gather(rank: Rank, step: Step) -> Started:
    got = [blank(count, step.dtype, step.layout) for count in step.counts]
    work = rank.group.allgather([[each.tensor for each in got]], [place(rank.given(step)[0], step.layout).tensor])
    return Started([work], lambda: all_equal(got, [given[0] for given in inputs_of(step, rank.size)]), got)


def all_equal(got: Sequence[Place], wanted: Sequence[Tensor]) -> str:
    return first_problem(*(equals(each, should) for each, should in zip(got, wanted, strict=True)))


def all_gather_single(rank: Rank, step: Step) -> Started:
    got = blank(rank.size * step.counts[0], step.dtype, step.layout)
    work = rank.group.all_gather_single(got.tensor, place(rank.given(step)[0], step.layout).tensor)
    return Started([work], lambda: equals(got, torch.cat([given[0] for given in inputs_of(step, rank.size)])), [got])


def gather(rank: Rank, step: Step) -> Started:
    is_root = rank.number == step.root
    got = [blank(step.counts[0], step.dtype, step.layout) for _ in range(rank.size if is_root else 0)]
    lists = [[each.tensor for each in got]] if is_root else []
    given = place(rank.given(step)[0], step.layout).tensor
    work = rank.group.gather(lists, [given], options(dist.GatherOptions, rootRank=step.root))
    return Started([work], lambda: all_equal(got, [each[0] for each in inputs_of(step, rank.size)][: len(got)]))


def scatter(rank: Rank, step: Step) -> Started:
    got = blank(step.counts[0], step.dtype, step.layout)
    parts = [place(tensor, step.layout).tensor for tensor in rank.given(step)]
    lists = [parts] if rank.number == step.root else []
    work = rank.group.scatter([got.tensor], lists, options(dist.ScatterOptions, rootRank=step.root))
    return Started([work], lambda: equals(got, inputs_of(step, rank.size)[step.root][rank.number]))


def all_to_all(rank: Rank, step: Step) -> Started:
    parts = [place(tensor, step.layout).tensor for tensor in rank.given(step)]
    got = [blank(count, step.dtype, step.layout) for count in step.counts[rank.number :: rank.size]]
    work = rank.group.alltoall([each.tensor for each in got], parts)
    return Started([work], lambda: all_equal(got, [given[rank.number] for given in inputs_of(step, rank.size)]))


def all_to_all_single(rank: Rank, step: Step) -> Started:
    n, counts = rank.size, step.counts
    out, given = list(counts[rank.number :: n]), list(counts[rank.number * n : (rank.number + 1) * n])
    layout = "strided" if step.layout == "strided" else "plain"  # of rows
    got = blank(sum(out), step.dtype, layout)
    source = place(torch.cat(rank.given(step)), layout).tensor
    work = rank.group.all_to_all_single(got.tensor, source, out, given)
    return Started([work], lambda: equals(got, torch.cat([given[rank.number] for given in inputs_of(step, n)])))


def all_reduce_sparse(rank: Rank, step: Step) -> Started:
    """About every second element of a tensor."""
    dense = [sparse_of(given[0], step.seed + number) for number, given in enumerate(inputs_of(step, rank.size))]
    tensor = dense[rank.number].to_sparse()
    work = rank.group.allreduce([tensor], options(dist.AllreduceOptions, reduceOp=dist.ReduceOp.SUM))
    wanted = dense[0]
    for other in dense[1:]:
        wanted = wanted + other
    return Started([work], lambda: equals(Place(tensor.to_dense()), wanted))


def sparse_of(tensor: Tensor, seed: int) -> Tensor:
    kept = torch.tensor([random.Random(seed * 1000 + at).random() < 0.5 for at in range(tensor.numel())])
    return torch.where(kept, tensor, torch.zeros_like(tensor)) if tensor.numel() else tensor


def barrier(rank: Rank, step: Step) -> Started:
    return Started([rank.group.barrier()], lambda: "")


def messages(rank: Rank, step: Step) -> Started:
    """All sends and receives of a rank, in an order of its own in which those that could be exchanged keep theirs."""
    queues: dict[tuple[str, int, int], list[int]] = {}
    for at, letter in enumerate(step.letters):
        if letter.source == rank.number:
            queues.setdefault(("send", letter.destination, letter.tag), []).append(at)
        if letter.destination == rank.number:
            queues.setdefault(("receive", -1 if letter.from_any else letter.source, letter.tag), []).append(at)
    order = [queue for queue, waiting in queues.items() for _ in waiting]
    random.Random(step.seed + rank.number).shuffle(order)
    works, receives = [], []
    for queue in order:
        at = queues[queue].pop(0)
        letter = step.letters[at]
        if queue[0] == "send":
            works.append(rank.group.send([rank.given(step)[at].clone()], letter.destination, letter.tag))
            continue
        got = blank(letter.count, step.dtype)
        if letter.from_any:
            works.append(rank.group.recv_anysource([got.tensor], letter.tag))
        else:
            works.append(rank.group.recv([got.tensor], letter.source, letter.tag))
        receives.append((letter, got, works[-1]))
    return Started(works, lambda: messages_problem(rank, step, receives))


def messages_problem(rank: Rank, step: Step, receives: list[tuple[Letter, Place, Any]]) -> str:
    """Messages of one source and tag come in the order in which they were sent."""
    given = inputs_of(step, rank.size)
    waiting = list(enumerate(step.letters))
    for letter, got, work in receives:
        source = work._source_rank()
        if not letter.from_any and source != letter.source:
            return f"a receive from rank {letter.source} says that its source is rank {source}"
        place = source, rank.number, letter.tag
        fits = [at for at, each in waiting if (each.source, each.destination, each.tag) == place]
        if not fits:
            return f"a receive of tag {letter.tag} says that its source is rank {source}, which sent no such message"
        waiting = [each for each in waiting if each[0] != fits[0]]
        if problem := equals(got, given[source][fits[0]]):
            return f"message from rank {source}, tag {letter.tag}: {problem}"
    return ""


START: dict[str, Callable[[Rank, Step], Started]] = {
    function.__name__: function
    for function in (
        *(all_reduce, all_reduce_coalesced, reduce, reduce_scatter, reduce_scatter_single, all_reduce_sparse),
        *(broadcast, all_gather, all_gather_single, gather, scatter, all_to_all, all_to_all_single),
        *(barrier, messages),
    )
}


def play(program: Program, rank: int, groups: Sequence[Any], lanes: int, pause: Callable[[], None]) -> Outcome:
    """A rank's part of a program. ``groups``: by number, None where the rank is no member. ``pause`` is called before
    each step. Ends with the first problem: other ranks may wait for this one then."""
    rng, outcome = random.Random(f"{program.seed} {rank}"), Outcome()
    under_way: list[tuple[int, Started]] = []

    def finish(at: int) -> None:
        index, started = under_way.pop(at)
        for work in rng.sample(list(started.works), len(started.works)):
            work.wait()
        if problem := started.check():
            outcome.problems.append(f"rank {rank}, step {index}: {problem}")
        if started.common:
            outcome.digests[index] = crc32(b"".join(bits(each.flat) for each in started.common))

    index = -1
    try:
        for index, step in enumerate(program.steps):
            group = program.groups[step.group]
            if rank not in group.members:
                continue
            pause()
            member = Rank(groups[step.group], group.members.index(rank), len(group.members), group.exact, lanes)
            under_way.append((index, START[step.call](member, step)))
            if rng.random() < 0.5:
                finish(-1)
            while under_way and rng.random() < 0.3:
                finish(rng.randrange(len(under_way)))
        while under_way:
            finish(rng.randrange(len(under_way)))
    except RuntimeError as error:
        outcome.problems.append(f"rank {rank}, after the start of step {index}: {type(error).__name__}: {error}")
    return outcome


def bits(tensor: Tensor) -> bytes:
    held = torch.empty(tensor.numel(), dtype=tensor.dtype)
    held.copy_(tensor)
    return held.view(torch.uint8).numpy().tobytes()


def differences(outcomes: Sequence[Outcome]) -> list[str]:
    """All problems, and steps whose results are not the same bits on all ranks."""
    found = [problem for outcome in outcomes for problem in outcome.problems]
    for index in sorted({index for outcome in outcomes for index in outcome.digests}):
        if len({outcome.digests[index] for outcome in outcomes if index in outcome.digests}) > 1:
            found.append(f"step {index}: the ranks have different bits")
    return found
