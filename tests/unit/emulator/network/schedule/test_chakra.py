"""Chakra's traces out and in again take the same time; bytes as the schema has them; what is refused."""

import json

import pytest

from emulator.network.messages.simulate import simulate
from emulator.network.schedule import chakra
from emulator.network.schedule.builder import Builder
from emulator.network.schedule.chakra import read_chakra, write_chakra
from emulator.network.schedule.generators import GENERATORS
from emulator.network.schedule.parts import Chunks, Collective, Compute, Operation, ScheduleError, Send
from emulator.network.schedule.verify import verify
from emulator.network.topology.builders import star


def step():
    """Of a pipeline of two stages, with sums in the switch."""
    builder = Builder("step", star(2), [Chunks(3, 5000, (0,), (1,)), Chunks(1, 800, (0, 1), (0, 1))])
    last = []
    for piece in range(3):
        forward = builder.compute(0, 1_234, "forward", writes=[piece])
        sent = builder.send(0, 1, [piece])
        last = [builder.compute(1, 2_345, "forward", reads=[piece], after=[sent]), forward]
    builder.collective(Operation.ALLREDUCE, (0, 1), [3], after=last)
    return builder.build()


SCHEDULES = [step(), *(build(star(4), 4096) for build in GENERATORS.values())]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda each: each.name)
def test_out_and_in_again(schedule, tmp_path):
    write_chakra(schedule, tmp_path / "trace.et")
    assert len(list(tmp_path.iterdir())) == schedule.ranks
    again = read_chakra(tmp_path / "trace.et", schedule.topology)
    assert list(again) == list(schedule)
    assert again.chunks == schedule.chunks


@pytest.mark.parametrize("schedule", [step(), GENERATORS["ring"](star(4), 4096)], ids=lambda each: each.name)
def test_a_trace_that_does_not_tell_which_data_it_moves_takes_the_same_time(schedule, tmp_path, monkeypatch):
    with monkeypatch.context() as changed:
        changed.setattr(chakra, "CHUNKS", "of_others")
        write_chakra(schedule, tmp_path / "trace.et")
    again = read_chakra(tmp_path / "trace.et", schedule.topology)
    assert {type(task) for task in again} <= {Compute, Send, Collective}
    assert verify(again).link_bytes.tolist() == verify(schedule).link_bytes.tolist()
    assert simulate(again).elapsed_ns == simulate(schedule).elapsed_ns


def varint_message(*parts):
    body = b"".join(parts)
    return bytes([len(body)]) + body


def attribute(name, value):
    """AttributeProto: name = 1, int64_val = 9; in Node it is field 10."""
    body = b"\x0a" + bytes([len(name)]) + name.encode() + b"\x48" + bytes([value])
    return b"\x52" + bytes([len(body)]) + body


def trace(*nodes):
    return varint_message(b"\x0a\x05" + b"0.0.4") + b"".join(nodes)


def node(number, kind, *more):
    """id = 1, type = 3."""
    return varint_message(b"\x08" + bytes([number]), b"\x18" + bytes([kind]), *more)


def test_bytes_of_the_schema(tmp_path):
    """Two ranks: metadata, a compute of 3 us (duration_micros = 7), an exchange, and an
    all-to-all (comm_type 6)."""
    for rank in range(2):
        messages = [
            node(1, 1, b"\x2a\x01\x00"),  # waits for node 0: data_deps = 5, packed
            node(0, 4, b"\x38\x03"),
            node(2, 5, b"\x22\x01\x01", attribute("comm_dst", 1 - rank), attribute("comm_size", 100)),
            node(3, 6, b"\x22\x01\x02", attribute("comm_src", 1 - rank), attribute("comm_size", 100)),
            node(4, 7, b"\x2a\x01\x03", attribute("comm_type", 6), attribute("comm_size", 50)),
        ]
        (tmp_path / f"t.{rank}.et").write_bytes(trace(*messages))
    schedule = read_chakra(tmp_path / "t.et", star(2))
    verify(schedule)
    assert [type(task) for task in schedule] == [Compute] * 2 + [Send] * 4
    assert [task.duration_ns for task in schedule if isinstance(task, Compute)] == [3000, 3000]
    assert [schedule.task_bytes[number] for number in range(2, 6)] == [100, 100, 25, 25]
    assert sorted(schedule[number].after for number in (2, 3)) == [(0,), (1,)]
    assert schedule[5].after == (2, 3)


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([node(0, 5, attribute("comm_dst", 1), attribute("comm_size", 9))], "1 sends and 0 receives"),
        ([node(0, 4, b"\x2a\x01\x07")], "node 0 waits for node 7, which is not there"),
        ([node(0, 4, b"\x2a\x01\x01"), node(1, 4, b"\x2a\x01\x00")], "4 nodes wait for each other"),
        ([node(0, 7)], "node 0 .* has no attribute comm_type"),
        ([b"\x09\x08"], "cut short at byte"),
    ],
)
def test_what_is_refused(messages, text, tmp_path):
    for rank in range(2):
        (tmp_path / f"t.{rank}.et").write_bytes(trace(*messages))
    with pytest.raises(ScheduleError, match=text):
        read_chakra(tmp_path / "t.et", star(2))
    with pytest.raises(ScheduleError, match=r"there is no file .*u\.0\.et"):
        read_chakra(tmp_path / "u.et", star(2))


def test_collectives_of_the_switch_come_back(tmp_path):
    write_chakra(GENERATORS["switch"](star(3), 64), tmp_path / "s.et")
    (task,) = read_chakra(tmp_path / "s.et", star(3))
    assert isinstance(task, Collective)
    assert (task.operation, task.group) == (Operation.ALLREDUCE, (0, 1, 2))


def torch_node(number, above, name, tensor=(), **attributes):
    given = {"rf_id": number, "op_schema": "c10d::f(Tensor[] tensors, bool async_op=True) -> Work", **attributes}
    values = [[list(each) for each in tensor], True]
    attrs = [{"name": key, "value": value} for key, value in given.items()]
    return {"id": number, "ctrl_deps": above, "name": name, "inputs": {"values": values}, "attrs": attrs}


def test_operators_that_a_trace_of_torch_has_below_one_that_has_ended(tmp_path):
    """A callback of another thread keeps it open for torch's observer; the timeline says when it has ended."""
    memory = (7, 30, 0, 100, 4, "cpu")
    groups = torch_node(2, 1, "## process_group:init ##")
    groups["inputs"]["values"] = ['[{"pg_name": "0", "ranks": []}]']
    nodes = [
        torch_node(1, 1, "[pytorch|profiler|execution_trace|process]"),
        groups,
        torch_node(3, 1, "mm"),
        torch_node(4, 1, "c10d::allreduce_", [memory]),
        torch_node(5, 4, "gloo:all_reduce", [memory]),
        torch_node(6, 4, "relu"),
        torch_node(7, 6, "step", [memory]),
        torch_node(8, 7, "add_", [memory]),
    ]
    times = {3: (100, 50), 4: (150, 10), 5: (155, 40), 6: (170, 20), 7: (300, 30), 8: (310, 5)}
    events = [{"ts": at, "dur": took, "args": {"Record function id": each}} for each, (at, took) in times.items()]
    for rank in range(2):
        (tmp_path / f"step.{rank}.json").write_text(json.dumps({"nodes": nodes}))
        (tmp_path / f"step.{rank}.timeline.json").write_text(json.dumps({"traceEvents": events}))
    schedule = read_chakra(tmp_path / "step.et", star(2))
    computes = [task for task in schedule if isinstance(task, Compute) and task.rank == 0]
    assert [(task.call, task.duration_ns) for task in computes] == [("mm", 50_000), ("relu", 20_000), ("step", 30_000)]
    (total,) = [number for number, task in enumerate(schedule) if isinstance(task, Collective)]
    assert (schedule.task_bytes[total], [total in task.after for task in computes]) == (400, [False, False, True])
    nodes[3]["name"] = "c10d::recv_any_source_"
    (tmp_path / "step.0.json").write_text(json.dumps({"nodes": nodes}))
    with pytest.raises(ScheduleError, match="node 4: recv_any_source_ is none of allreduce_"):
        read_chakra(tmp_path / "step.et", star(2))
