"""What a schedule is: tasks and columns, millions of them; files, and what is said about wrong ones."""

import json

import numpy as np
import pytest

from emulator.network.messages.simulate import simulate
from emulator.network.schedule import waits
from emulator.network.schedule.builder import Builder
from emulator.network.schedule.columns import Columns, Kind, Ragged
from emulator.network.schedule.files import ScheduleFileError, parse_schedule, schedule_json
from emulator.network.schedule.gantt import draw
from emulator.network.schedule.generators import GENERATORS
from emulator.network.schedule.parts import Chunks, Compute, Operation, ScheduleError, Send
from emulator.network.schedule.schedule import Schedule
from emulator.network.schedule.verify import verify
from emulator.network.topology.builders import star

BYTES = 64


def ring_of_columns(ranks):
    """The ring of `generators.ring`, without a loop over tasks."""
    rank, steps = np.arange(ranks), ranks - 1
    step = np.repeat(np.arange(2 * steps), ranks)
    source = np.tile(rank, 2 * steps)
    destination = (source + 1) % ranks
    chunk = np.where(step < steps, source - step, source + 1 - (step - steps)) % ranks
    kind = np.where(step < steps, Kind.REDUCE, Kind.SEND).astype(np.uint8)
    number = np.arange(len(step))
    before = number - ranks - source + (source - 1) % ranks  # of the step before: the task that ends here
    # a Send writes over what its destination has sent on, and waits for that too
    read = (destination - chunk) % ranks * ranks + destination
    is_send = (step >= steps)[:, None]
    waits = np.where(is_send, np.sort(np.stack([read, before], 1)), before[:, None])
    counts = np.where(step == 0, 0, np.where(step < steps, 1, 2))
    kept = np.arange(2) < counts[:, None]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    topology = star(ranks)
    up = {link.source: index for index, link in enumerate(topology.links)}
    down = {link.destination: index for index, link in enumerate(topology.links)}
    ups, downs = (np.array([each[name] for name in topology.hosts]) for each in (up, down))
    nothing = Ragged(np.zeros(len(step) + 1, np.int64), np.zeros(0, np.int32))
    columns = Columns(
        kind,
        source.astype(np.int32),
        destination.astype(np.int32),
        np.zeros(len(step), np.int64),
        np.zeros(len(step), np.int32),
        Ragged.equal(np.stack([chunk, np.ones_like(chunk)], 1)[:, None, :]),
        Ragged(nothing.offsets, np.zeros((0, 2), np.int32)),
        Ragged.equal(np.stack([ups[source], downs[destination]], 1)),
        Ragged(offsets, waits[kept].astype(np.int32)),
        nothing,
    )
    everybody = tuple(range(ranks))
    chunks = (Chunks(ranks, BYTES, everybody, everybody),)
    return Schedule(f"ring-{ranks}", topology, topology.hosts, chunks, (), columns)


def test_columns_say_what_tasks_do():
    bulk, single = ring_of_columns(6), GENERATORS["ring"](star(6), 6 * BYTES)
    assert list(bulk) == list(single)
    assert schedule_json(bulk) == schedule_json(single)


def test_a_quarter_of_a_million_tasks():
    schedule = ring_of_columns(354)
    assert len(schedule) == 2 * 353 * 354
    verify(schedule)
    link = schedule.topology.links[0]
    each_ns = 2 * link.latency_ns - (-BYTES * 8_000_000_000 // link.rate_bps)
    assert simulate(schedule).elapsed_ns == 2 * 353 * each_ns


def test_waits_do_not_depend_on_how_much_is_calculated_at_a_time(monkeypatch):
    whole = schedule_json(GENERATORS["bcube"](star(12), 12 * BYTES))
    monkeypatch.setattr(waits, "BLOCK_PLACES", 30)
    assert schedule_json(GENERATORS["bcube"](star(12), 12 * BYTES)) == whole


def test_too_many_tasks_are_refused_before_they_are_made():
    with pytest.raises(ScheduleError, match="33,546,240 tasks are too many: at most 8,388,608"):
        GENERATORS["ring"](star(4096), 4096 * BYTES)
    with pytest.raises(ScheduleError, match=r"tasks use chunks [0-9,]+ times: at most 134,217,728"):
        GENERATORS["halving-doubling"](star(8192), 8192 * BYTES)


def everything():
    chunks = [Chunks(2, 8, (0,), (1,)), Chunks(1, 12, (0, 1), (0, 1))]
    builder = Builder("all kinds", star(2), chunks, ["h1", "h0"])
    first = builder.compute(0, 900, "norm", writes=[0, 1])
    builder.send(0, 1, [0, 1])
    builder.reduce(0, 1, [2], after=[first])
    builder.send(1, 0, [2])
    builder.compute(1, 5, reads=[0, 2])
    return builder.build()


def test_all_kinds_of_tasks_in_a_file(tmp_path):
    schedule = everything()
    text = schedule_json(schedule)
    again = parse_schedule(text)
    assert schedule_json(again) == text
    assert list(again) == list(schedule)
    assert (again[0], again[1].after, again[4]) == (
        Compute(0, 900, "norm", (), (0, 1)),
        (0,),
        Compute(1, 5, "", (0, 2), (), (1, 2)),
    )
    assert schedule.task_bytes.tolist() == [16, 16, 12, 12, 0]
    run = simulate(schedule)
    draw(schedule, run.start_ns, run.finish_ns, tmp_path / "gantt.png")
    assert (tmp_path / "gantt.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("tasks", 1, "kind"), "sent", r"tasks\[1\].kind: 'sent' is none of compute, send, reduce, collective"),
        (("tasks", 1, "rout"), [], r"tasks\[1\].rout: unknown field"),
        (("tasks", 1, "route"), ["h0->h1"], r"tasks\[1\].route\[0\]: there is no link 'h0->h1'"),
        (("tasks", 1, "after"), "4", r"tasks\[1\].after: task 4 is not an earlier one"),
        (("tasks", 1, "after"), "0-", r"tasks\[1\].after: '0-' is neither a number nor as 0-3"),
        (("tasks", 1, "chunks"), "2-3", r"tasks\[1\].chunks: there is no chunk 2"),
        (("tasks", 1, "chunks"), "1,0", r"tasks\[1\].chunks: chunk 0 is not in ascending order"),
        (("tasks", 1, "source"), 2, r"tasks\[1\].source: there is no rank 2"),
        (("tasks", 1, "source"), "0", r'tasks\[1\].source: "0" has to be a whole number'),
        (("tasks", 0, "duration_ns"), -1, r"tasks\[0\].duration_ns: -1 cannot be"),
        (("chunks", 0, "bytes"), 0, r"chunks\[0\].bytes: 0 is not between 1 and 274,877,906,944"),
        (("chunks", 0, "bytes"), 1 << 62, r"chunks\[0\].bytes: 4611686018427387904 is not between 1 and"),
        (("chunks", 0, "count"), 10**12, r"chunks\[0\].count: 1000000000000 is not between 1 and 16,777,216"),
        (("tasks", 0, "duration_ns"), 1 << 62, r"tasks\[0\].duration_ns: 4611686018427387904 is"),
        (("chunks", 0, "sources"), "", r"chunks\[0\].sources: nobody holds them"),
        (("places", 1), "h7", r"places\[1\]: star-2: there is no node 'h7'"),
        (("topology", "links"), [], r"topology"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(path, value, text):
    document = json.loads(schedule_json(everything()))
    *way, last = path
    part = document
    for step in way:
        part = part[step]
    part[last] = value
    with pytest.raises(ScheduleFileError, match=f"plan.json: {text}"):
        parse_schedule(json.dumps(document), "plan.json")


def test_what_the_builder_waits_for():
    """Reads wait for what was written or added; additions for reads, not for each other; writes for all."""
    everybody = (0, 1, 2)
    builder = Builder("waits", star(3), [Chunks(1, 4, everybody, everybody)])
    builder.reduce(1, 0, [0])
    builder.reduce(2, 0, [0])
    builder.send(0, 1, [0])
    builder.send(0, 2, [0])
    builder.collective(Operation.BROADCAST, (1, 0, 2), [0])
    schedule = builder.build()
    assert [task.after for task in schedule] == [(), (), (0, 1), (0, 1), (2, 3)]
    verify(schedule)


def test_tasks_have_to_be_well_formed():
    chunks = [Chunks(1, 4, (0,), (1,))]
    with pytest.raises(ScheduleError, match=r"tasks\[0\].destination: a rank sends to itself"):
        Schedule.of("self", star(2), chunks, [Send(0, 0, (0,), ())])
    with pytest.raises(ScheduleError, match=r"tasks\[0\].chunks: a message has chunks"):
        Schedule.of("empty", star(2), chunks, [Send(0, 1, (), ("h0->s0", "s0->h1"))])
