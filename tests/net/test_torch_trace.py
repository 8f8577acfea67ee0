"""A training step that torch records here becomes a schedule: its collectives, their bytes, its measured times."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.network.messages.simulate import simulate
from emulator.network.schedule.chakra import read_chakra, write_chakra
from emulator.network.schedule.generators import GENERATORS
from emulator.network.schedule.parts import Collective, Compute, Reduce, ScheduleError, Send
from emulator.network.schedule.verify import verify
from emulator.network.topology.builders import star
from emulator.network.topology.files import write_topology
from hostagent.cli.main import run

RANKS = 3
GRADIENT_BYTES = 4 * 4 * (400 * 400 + 400)
SCRIPT = Path(__file__).parent / "torch_scripts" / "recorded_step.py"


def record(folder, name):
    commands = [[sys.executable, SCRIPT, folder, str(rank), str(RANKS), name] for rank in range(RANKS)]
    started = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
    said = [process.communicate(timeout=120)[1] for process in started]
    assert [process.returncode for process in started] == [0] * RANKS, said
    return folder / "step.et"


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return record(tmp_path_factory.mktemp("trace"), "ddp")


def recorded(trace, rank):
    """(bytes of each allreduce, duration of the whole optimizer's step in ns)."""
    nodes = json.loads(trace.with_suffix(f".{rank}.json").read_text())["nodes"]
    tensors = [node["inputs"]["values"][0][0] for node in nodes if node["name"] == "c10d::allreduce_"]
    events = json.loads(trace.with_suffix(f".{rank}.timeline.json").read_text())["traceEvents"]
    (step,) = [event for event in events if event["name"] == "Optimizer.step#SGD.step"]
    return [tensor[3] * tensor[4] for tensor in tensors], round(1000 * step["dur"])


def test_its_buckets_are_summed_in_the_switch(trace):
    schedule = read_chakra(trace, star(RANKS))
    verify(schedule)
    sums = [number for number, task in enumerate(schedule) if isinstance(task, Collective)]
    sizes, step_ns = recorded(trace, 0)
    assert len(sizes) > 1
    assert sum(sizes) == GRADIENT_BYTES
    assert schedule.task_bytes[sums].tolist() == sizes
    steps = [task for task in schedule if isinstance(task, Compute) and task.call.startswith("Optimizer.step")]
    assert sorted(task.rank for task in steps) == list(range(RANKS))
    assert [task.duration_ns for task in steps if task.rank == 0] == [step_ns]


@pytest.mark.parametrize("algorithm", ["ring", "halving-doubling", "double-binary-tree"])
def test_or_by_an_algorithm(trace, algorithm, tmp_path):
    schedule = read_chakra(trace, star(RANKS), algorithm=algorithm)
    moved = verify(schedule)
    assert {type(task) for task in schedule} == {Compute, Send, Reduce}
    alone = verify(GENERATORS[algorithm](star(RANKS), GRADIENT_BYTES))
    assert moved.sent_bytes.tolist() == pytest.approx(alone.sent_bytes.tolist(), rel=1e-4)
    write_chakra(schedule, tmp_path / "own.et")
    assert list(read_chakra(tmp_path / "own.et", star(RANKS))) == list(schedule)


def test_backward_goes_on_while_a_bucket_is_summed_and_the_optimizer_waits_for_all(trace):
    schedule = read_chakra(trace, star(RANKS), algorithm="ring")
    times = simulate(schedule)
    messages = [(number, task) for number, task in enumerate(schedule) if isinstance(task, Send | Reduce)]
    computes = [(number, task) for number, task in enumerate(schedule) if isinstance(task, Compute)]
    steps = {task.rank: number for number, task in computes if task.call.startswith("Optimizer.step")}
    first_ns = min(times.start_ns[number] for number, _ in messages)
    for rank in range(RANKS):
        last_ns = max(times.finish_ns[number] for number, task in messages if task.destination == rank)
        assert times.start_ns[steps[rank]] >= last_ns
        assert any(first_ns < times.start_ns[number] < last_ns for number, task in computes if task.rank == rank)
        assert times.elapsed_ns >= sum(task.duration_ns for _, task in computes if task.rank == rank)


def test_on_the_command_line(trace, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_topology(star(RANKS), "net.yaml")
    words = [str(trace), "--topology", "net.yaml", "--algorithm", "ring"]
    assert run(["schedule", "convert", *words, "-o", "step.json"]) == 0
    assert run(["schedule", "show", *words, "--gantt", "step.png", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (tmp_path / "step.png").stat().st_size > 1000
    assert run(["schedule", "show", "step.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert run(["schedule", "show", *words[:-1], "rings"]) == 2
    assert "--algorithm: 'rings': choose one of ring" in capsys.readouterr().err


def test_without_a_timeline_and_what_is_no_trace(trace, tmp_path):
    for rank in range(RANKS):
        (tmp_path / f"step.{rank}.json").write_bytes(trace.with_suffix(f".{rank}.json").read_bytes())
    schedule = read_chakra(tmp_path / "step.et", star(RANKS))
    assert {task.duration_ns for task in schedule if isinstance(task, Compute)} == {0}
    (tmp_path / "step.1.json").write_text('{"nodes": []}')
    with pytest.raises(ScheduleError, match=r"step\.1\.json: no execution trace of torch: .* no node"):
        read_chakra(tmp_path / "step.et", star(RANKS))


def test_messages_from_rank_to_rank(tmp_path):
    schedule = read_chakra(record(tmp_path, "ring"), star(RANKS))
    moved = verify(schedule)
    sends = {task.source: (number, task) for number, task in enumerate(schedule) if isinstance(task, Send)}
    assert {source: task.destination for source, (_, task) in sends.items()} == {0: 1, 1: 2, 2: 0}
    assert moved.sent_bytes.tolist() == [4000] * RANKS
    for number, task in enumerate(schedule):
        if isinstance(task, Compute) and task.call == "aten::add_":
            assert sends[(task.rank - 1) % RANKS][0] in task.after, number
    (total,) = [task for task in schedule if isinstance(task, Collective)]
    before = [task for task in map(schedule.__getitem__, total.after) if isinstance(task, Compute)]
    assert {task.rank for task in before if task.call == "aten::add_"} == set(range(RANKS))  # in order of time


def test_several_groups_of_gloo_are_refused(tmp_path):
    with pytest.raises(
        ScheduleError, match=r"step.0.json: 2 process groups, and collectives or messages that do not say"
    ):
        read_chakra(record(tmp_path, "groups"), star(RANKS))
