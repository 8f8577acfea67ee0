"""Valid schedules are accepted; what `tests/oracles/schedules.py` finds harmful, in any order of events, is refused."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from emulator.network.messages.simulate import simulate
from emulator.network.schedule.builder import Builder
from emulator.network.schedule.generators import GENERATORS
from emulator.network.schedule.parts import Chunks, Collective, Compute, Operation, Reduce, ScheduleError, Send
from emulator.network.schedule.schedule import Schedule
from emulator.network.schedule.verify import InvalidScheduleError, Rule, verify
from emulator.network.topology.builders import star, tree
from tests.oracles.schedules import goes_wrong

MUTATIONS = 1_000


def pipeline():
    """Two stages that compute, send activations, and sum gradients in the switch."""
    chunks = [Chunks(2, 4, (0,), (1,)), Chunks(1, 8, (0, 1), (0, 1))]
    builder = Builder("pipeline", star(2), chunks)
    for piece in range(2):
        builder.compute(0, 500, "forward", writes=[piece])
        builder.send(0, 1, [piece])
        builder.compute(1, 700, "forward", reads=[piece], writes=[2] if piece else [])
    builder.compute(0, 400, "backward", writes=[2])
    builder.collective(Operation.ALLREDUCE, (0, 1), [2])
    return builder.build()


def originals():
    found = [GENERATORS[name](star(ranks), 4 * 12) for name in ("ring", "halving-doubling") for ranks in (2, 3)]
    found += [GENERATORS["switch"](tree((2, 2)), 4 * 12, pieces=3), pipeline()]
    return [*found, GENERATORS["double-binary-tree"](star(3), 4 * 12, pieces=1)]


def mutated(schedule, rng):
    """The same with one thing changed; may be malformed, which raises ScheduleError."""
    tasks = list(schedule)
    number = rng.randrange(len(tasks))
    task = tasks[number]
    chunks, ranks = len(schedule.chunk_bytes), schedule.ranks
    links = [link.name for link in schedule.topology.links]

    def other_chunks(given):
        return tuple(sorted({rng.randrange(chunks), *given[1:]}))

    choice = rng.choice(["drop", "swap", "wait less", "chunk", "end", "kind", "route", "twice"])
    if choice == "drop":
        renumbered = [other - (other > number) for other in range(len(tasks))]
        tasks = [
            replace(each, after=tuple(renumbered[other] for other in each.after if other != number))
            for each in tasks[:number] + tasks[number + 1 :]
        ]
    elif choice == "swap":
        other = rng.randrange(len(tasks))
        tasks[number], tasks[other] = (
            replace(tasks[a], after=tasks[b].after) for a, b in ((other, number), (number, other))
        )
    elif choice == "wait less":
        number = rng.choice([each for each, one in enumerate(tasks) if one.after] or [number])
        after = list(tasks[number].after)
        if after:
            after.pop(rng.randrange(len(after)))
        tasks[number] = replace(tasks[number], after=tuple(after))
    elif choice == "twice":
        tasks.append(replace(task, after=tuple(range(number, len(tasks)))))
    elif isinstance(task, Compute):
        name = rng.choice(["reads", "writes", "rank"])
        changed: Any = rng.randrange(ranks) if name == "rank" else tuple(sorted({rng.randrange(chunks)}))
        tasks[number] = replace(task, **{name: changed})
    elif choice == "chunk":
        tasks[number] = replace(task, chunks=other_chunks(task.chunks))
    elif choice == "route":
        route = list(task.route)
        route[rng.randrange(len(route))] = rng.choice(links)
        tasks[number] = replace(task, route=tuple(route))
    elif isinstance(task, Collective):
        group = list(task.group)
        group.pop(rng.randrange(len(group)))
        tasks[number] = (
            replace(task, group=tuple(group)) if choice == "end" else replace(task, operation=Operation.REDUCE)
        )
    elif choice == "end":
        tasks[number] = replace(task, **{rng.choice(["source", "destination"]): rng.randrange(ranks)})
    else:
        kind = Reduce if isinstance(task, Send) else Send
        tasks[number] = kind(task.source, task.destination, task.chunks, task.route, task.after)
    return Schedule.of(schedule.name, schedule.topology, schedule.chunks, tasks, schedule.places)


def test_mutations_that_do_harm_are_refused():
    rng = random.Random(7)
    schedules = originals()
    assert [goes_wrong(schedule) for schedule in schedules] == [""] * len(schedules)
    rules: Counter[str] = Counter()
    harmful = 0
    for count in range(MUTATIONS):
        schedule = schedules[count % len(schedules)]
        try:
            changed = mutated(schedule, rng)
        except ScheduleError:
            rules["malformed"] += 1
            continue
        try:
            verify(changed)
        except InvalidScheduleError as refusal:
            rules[refusal.rule] += 1
        else:
            assert goes_wrong(changed) == "", f"accepted: {list(changed)}"
            rules["harmless"] += 1
    harmful = MUTATIONS - rules["harmless"] - rules["malformed"]
    assert harmful > MUTATIONS // 3
    assert {Rule.ROUTE, Rule.ORDER, Rule.SOURCE, Rule.TWICE, Rule.RESULT} <= set(rules)


def test_times_that_cannot_be_are_refused():
    rng = random.Random(3)
    rules: Counter[str] = Counter()
    for schedule in originals():
        run = simulate(schedule)
        verify(schedule, run.start_ns, run.finish_ns)
        for _ in range(30):
            start_ns, finish_ns = run.start_ns.copy(), run.finish_ns.copy()
            number, shift = (
                rng.randrange(len(schedule)),
                rng.choice([rng.randrange(-30, 30), rng.randrange(-3000, 3000)]),
            )
            start_ns[number] += shift
            finish_ns[number] += shift
            try:
                verify(schedule, start_ns, finish_ns)
            except InvalidScheduleError as refusal:
                rules[refusal.rule] += 1
            else:
                assert goes_wrong(schedule, start_ns, finish_ns) == ""
    assert set(rules) == {Rule.TIME, Rule.EXCLUSIVE}
    last = np.arange(len(schedule)) == len(schedule) - 1
    with pytest.raises(InvalidScheduleError, match=r"tasks\[\d+\]: it takes \d+ ns, not \d+"):
        verify(schedule, run.start_ns, run.finish_ns + last)


@pytest.mark.parametrize(
    ("tasks", "text"),
    [
        ([Send(0, 1, (1,), ("h0->s0", "s0->h1"))], r"tasks\[0\]: rank 0 does not hold chunk 1"),
        ([Send(0, 1, (0,), ("h1->s0", "s0->h0"))], r"tasks\[0\].route: the links are no way from h0 to h1"),
        ([Reduce(0, 1, (0,), ("h0->s0", "s0->h1"))], r"tasks\[0\]: rank 1 does not hold chunk 0"),
        ([], r"chunks\[0\].destinations: in the end rank 1 does not hold all of chunk 0: rank 0's contribution"),
        ([Compute(1, 5, writes=(0,))], r"tasks\[0\]: rank 1 is no source of chunk 0, which it writes"),
        (
            [Send(0, 1, (0,), ("h0->s0", "s0->h1"))] * 2,
            r"tasks\[1\]: nothing says that it waits for task 0: both use chunk 0 at rank 1",
        ),
    ],
)
def test_what_is_said(tasks, text):
    chunks = [Chunks(1, 4, (0,), (1,)), Chunks(1, 4, (1,), ())]
    with pytest.raises(InvalidScheduleError, match=text):
        verify(Schedule.of("one", star(2), chunks, tasks))
