"""netsum schedule: build, show, convert; what is said about wrong command lines."""

import json
from contextlib import contextmanager

import pytest

from emulator.network.schedule.builder import Builder
from emulator.network.schedule.files import write_schedule
from emulator.network.schedule.parts import Chunks
from emulator.network.topology.builders import leaf_spine, star
from emulator.network.topology.files import write_topology
from hostagent.cli.main import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_topology(star(4), "net.yaml")
    assert run(["schedule", "build", "ring", "net.yaml", "--size", "64KiB", "-o", "ring.json"]) == 0
    return tmp_path


def shown(capsys, *words):
    capsys.readouterr()
    assert run(["schedule", "show", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_schedule_in_all_formats(folder, capsys):
    own = shown(capsys, "ring.json")
    assert (own["ranks"], own["tasks"], own["sent_bytes"]) == (4, 24, [98_304] * 4)
    assert shown(capsys, "ring.json", "--sharing", "fair")["elapsed_ns"] == own["elapsed_ns"]
    assert run(["schedule", "convert", "ring.json", "-o", "ring.xml"]) == 0
    assert shown(capsys, "ring.xml", "--topology", "net.yaml", "--size", "64KiB")["link_bytes"] == own["link_bytes"]
    assert run(["schedule", "convert", "ring.json", "-o", "ring.et"]) == 0
    assert shown(capsys, "ring.et", "--topology", "net.yaml")["elapsed_ns"] == own["elapsed_ns"]


def test_what_takes_long_is_said_on_a_terminal(folder, monkeypatch):
    said = []

    @contextmanager
    def progress(text, total=None):
        said.append(text)
        yield lambda description: said.append(description)

    monkeypatch.setattr("hostagent.launch.terminal.progress", progress)
    assert run(["schedule", "build", "ring", "net.yaml", "-o", "again.json"]) == 0
    assert run(["schedule", "show", "again.json"]) == 0
    assert said == [
        "building ring",
        "verifying 24 tasks",
        "writing 24 tasks",
        "reading again.json",
        "simulating and verifying 24 tasks",
    ]


def test_too_many_tasks(folder, capsys):
    write_topology(star(4096), "large.yaml")
    assert run(["schedule", "build", "ring", "large.yaml", "-o", "large.json"]) == 2
    assert "ring on large.yaml: 33,546,240 tasks are too many: at most 8,388,608" in capsys.readouterr().err


def test_what_is_printed(folder, capsys):
    assert run(["schedule", "show", "ring.json", "--tasks", "2", "--gantt", "ring.png"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ring-4 on star-4: 4 ranks, 24 tasks, right in any order; 90,648 ns"
    assert lines[1] == "8 links carry 98.3 kB each; ranks send 98.3 kB to one another"
    assert lines[3].split() == ["0", "reduce", "0", "->", "1", "0", "16,384", "0", "15,108"]
    assert lines[-1] == "and 22 more: --tasks N"
    assert (folder / "ring.png").stat().st_size > 1000


def test_nothing_is_said_of_messages_where_there_are_none(folder, capsys):
    assert run(["schedule", "build", "switch", "net.yaml", "--size", "64KiB", "-o", "switch.json"]) == 0
    assert run(["schedule", "show", "switch.json"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "8 links carry 65.5 kB each"


@pytest.mark.parametrize("command", ["show", "run", "convert"])
def test_a_wrong_schedule_is_refused_with_its_file_and_task(folder, capsys, command):
    text = (folder / "ring.json").read_text()
    (folder / "race.json").write_text(text.replace('"after": "3"', '"after": ""'))
    more = ["-o", "x.xml"] if command == "convert" else []
    assert run(["schedule", command, "race.json", *more]) == 2
    assert not (folder / "x.xml").exists()
    assert "race.json: tasks[4]: nothing says that it waits for task 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["build", "star", "net.yaml", "-o", "x.json"], "choose one of ring"),
        (["show", "x.json", "--gantt", "x.foo"], "x.foo: a picture's name ends in .png, .svg or .pdf"),
        (["build", "ring", "net.yaml", "--size", "7", "-o", "x.json"], "--size 7: 7 bytes are too few for 4 chunks"),
        (["show", "none.json"], "none.json: No such file"),
        (["show", "ring.json", "--size", "4"], "--size: ring.json has its own"),
        (["show", "ring.xml"], "--topology: ring.xml has none"),
        (["show", "ring.json", "--sharing", "none"], "choose one of exclusive, fair"),
        (["show", "ring.text"], "FILE: ring.text: a schedule's name ends in .json, .xml, .et"),
        (["convert", "ring.json", "-o", "x.foo"], "-o/--output: x.foo: a schedule's name ends in .json, .xml, .et"),
        (["build", "ring", "net.yaml", "-o", "ring"], "-o/--output: ring: a schedule's name ends in .json, .xml, .et"),
        (["run", "ring.json", "-n", "5"], "ring-4 has 4 ranks, not 5"),
        (["run", "ring.json", "--all-switches", "--aggregator", "server"], "--aggregator: does not apply with --all"),
    ],
)
def test_wrong_command_lines(folder, capsys, words, text):
    assert run(["schedule", *words]) == 2
    assert text in capsys.readouterr().err


def test_a_schedule_without_sums_needs_no_switches(folder, capsys):
    builder = Builder("alone", star(4), [Chunks(1, 8, (0,), (0,))])
    builder.compute(0, 5)
    write_schedule(builder.build(), "alone.json")
    assert run(["schedule", "run", "alone.json", "--all-switches"]) == 2
    assert "alone.json: tasks: no message passes a switch, and none sums" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--impair", "loos=3"], "--impair 'loos=3'"),
        (["--lanes", "65"], "--lanes 65"),
        (["--aggregator", "foo"], "--aggregator foo"),
    ],
)
def test_mistakes_of_a_run_are_said_by_this_command(folder, capsys, words, text):
    assert run(["schedule", "run", "ring.json", *words]) == 2
    assert f"netsum schedule run: {text}: " in capsys.readouterr().err


def test_a_message_through_several_switches(folder, capsys):
    write_topology(leaf_spine(2, 2, 1), "racks.yaml")
    assert run(["schedule", "build", "ring", "racks.yaml", "-o", "racks.json"]) == 0
    assert run(["schedule", "run", "racks.json", "--all-switches"]) == 2
    text = "racks.json: tasks[1].route: 3 switches are on its links; live, each message and each sum has one"
    assert text in capsys.readouterr().err
