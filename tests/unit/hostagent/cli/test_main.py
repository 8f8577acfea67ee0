"""The netsum command's table of commands, its help texts, and how command lines are read."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

import pytest

from hostagent.cli.main import BENCH, COMMANDS, Entry, Group, load
from hostagent.cli.parsing import parser_of
from tests.clients.command import netsum

HEAVY = ("rich", "numpy", "numba", "google.protobuf", "torch")


def kept_in(found: list[Any]) -> Callable[..., int]:
    """In the place of a function that runs something: keeps its options, and ends well."""

    def keep(options: Any) -> int:
        found.append(options)
        return 0

    return keep


def entries(
    commands: Mapping[str, Entry | Group] | Mapping[str, Entry] = COMMANDS, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Entry]]:
    for name, entry in commands.items():
        if isinstance(entry, Group):
            yield from entries(entry.commands, (*path, name))
        else:
            yield (*path, name), entry


def test_the_version_is_the_packages() -> None:
    result = netsum("--version")
    assert (result.exit_code, result.output) == (0, f"netsum {version('netsum')}\n")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["trian"], "netsum: unknown command trian; did you mean trace? See `netsum --help`."),
        (["pspin", "exampel"], "netsum pspin: unknown command exampel; did you mean example?"),
        (["--verison"], "netsum: unknown option --verison."),
        (["run", "--nprocs", "3", "x"], "netsum run: unknown option --nprocs; did you mean --nproc?"),
        (["run"], "netsum run: missing: SCRIPT."),
        (["run", "--racks", "50", "x"], "netsum run: --racks: 50 is out of range: 1 to 16."),
        (["run", "-n", "two", "x"], "netsum run: -n/--nproc/--nproc-per-node: 'two' is not an integer."),
        (["status", "host:1", "b"], "netsum status: unexpected argument b."),
        (["switch", "--port"], "netsum switch: --port: expected one argument."),
        (["compile"], "netsum compile: PROGRAM: missing"),
        (["compile", "--dmp"], "netsum compile: unknown option --dmp; did you mean --dump-after?"),
        (["bench", "nope"], "netsum bench: unknown command nope; choose one of allreduce, collectives, switch,"),
        (["run", "--lanes", "100", "x"], "netsum run: --lanes: 100: choose one of 64, 256,"),
        (["run", "--aggregator", "bogus", "x"], "netsum run: --aggregator bogus: choose p4,"),
        (["switch", "--port", "1"], "netsum switch: --port: port '1': no port number before '1'"),
        (["switch", "--engine", "bogus"], "netsum switch: --engine: 'bogus' is none of llvm, interpreter."),
        (["switch", "--grpc-server-ssl"], "netsum switch: --grpc-server-ssl: requires --grpc-server-cert"),
        (["controller", "--port", "1=shm:a", "--port", "1=shm:b"], "netsum controller: --port: port '1=shm:b'"),
        (["server", "--port", "1=nowhere"], "netsum server: --port: port '1=nowhere'"),
        (["server", "--checkpoint-every", "0"], "netsum server: --checkpoint-every: 0 is out of range: at least 1."),
        (["aggregator", "pspin", "--port", "shm:a"], "netsum aggregator: --port: port 'shm:a'"),
        (["aggregator", "foo"], "netsum aggregator: CORE: there is no aggregator 'foo': choose pspin, server or core:"),
        (["aggregator", "server", "--lanes", "3"], "netsum aggregator: --lanes: 3: choose one of 64, 256,"),
        (["server", "--lanes", "100"], "netsum server: --lanes: 100: choose one of 64, 256,"),
        (["server", "--slots", "0"], "netsum server: --slots: 0 is out of range: 1 to 65536."),
        (["switch", "--p4runtime", "nonsense"], "'nonsense' is not HOST:PORT, for example 127.0.0.1:9559."),
        (["controller", "--listen", "127.0.0.1:65536"], "--listen: '127.0.0.1:65536' is not HOST:PORT"),
        (["run", "--controller", "nonsense", "x"], "netsum run: --controller: 'nonsense' is not HOST:PORT"),
        (["status", ":7000"], "netsum status: HOST:PORT: ':7000' is not HOST:PORT"),
        (
            ["controller", "--cert", "a"],
            "netsum controller: --cert, --private-key: a certificate needs its private key",
        ),
        (["shell", "--election-id", "x"], "netsum shell: --election-id: 'x': write HIGH,LOW"),
        (["shell", "--election-id", "1,"], "netsum shell: --election-id: '1,': write HIGH,LOW"),
    ],
)
def test_a_usage_error_is_one_line_with_the_nearest_option(words: list[str], text: str) -> None:
    result = netsum(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert text in result.stderr
    assert result.stderr.count("\n") == 1


def test_bench_all_runs_every_benchmark() -> None:
    from hostagent.cli.bench.command import ALL

    assert {*ALL, "all"} == set(BENCH.commands)


@pytest.mark.parametrize("words", [[], ["bench"]])
def test_without_a_command_the_commands_are_listed(words: list[str]) -> None:
    result = netsum(*words)
    assert result.exit_code == 2
    assert "\ncommands:\n" in result.stdout


def test_helps_fit_a_terminal_and_end_with_an_example() -> None:
    commands = dict(entries())
    assert {("run",), ("pspin", "sweep"), ("bench", "all")} <= commands.keys()
    for path, entry in commands.items():
        result = netsum(*path, "--help")
        assert result.exit_code == 0
        example = result.stdout.rpartition("\nExample")[2]
        assert f"netsum {' '.join(path)}" in example, path
        for option in load(entry).options:
            assert option.settings["help"][0].isupper(), (path, option.names)
            assert all(name in result.stdout for name in option.names if not option.is_argument), (path, option.names)
        assert max(map(len, result.stdout.split("\n"))) <= 80, path


@pytest.mark.parametrize("words", [["--help"], ["bench", "--help"], ["pspin", "--help"]])
def test_lists_of_commands_fit_a_terminal(words: list[str]) -> None:
    assert max(map(len, netsum(*words).stdout.split("\n"))) <= 80


def test_every_option_is_a_parameter_of_its_function() -> None:
    for path, entry in entries():
        command = load(entry)
        options = {action.dest for action in parser_of(" ".join(path), command)._actions} - {"help"}
        assert options == set(command.parameters) - {"given", command.forwards}, path


def test_the_help_imports_no_commands_and_no_libraries() -> None:
    code = (
        "import sys; from hostagent.cli.main import run; run(['--help']);"
        f"print([name for name in {HEAVY} if name in sys.modules],"
        "sorted(name for name in sys.modules if name.startswith('hostagent.cli.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[] ['hostagent.cli.main', 'hostagent.cli.parsing']", done


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        (["train.py", "--epochs", "3", "--nproc", "7"], (1, "train.py", ("--epochs", "3", "--nproc", "7"))),
        (["-n", "2", "-m", "train", "--", "-x"], (2, "train", ("--", "-x"))),
        (["-n2", "--impair", "loss=0.1", "train.py", "a"], (2, "train.py", ("a",))),
        (["--nproc=3", "--", "train.py", "--help"], (3, "train.py", ("--help",))),
    ],
)
def test_what_follows_the_script_is_the_scripts(
    words: list[str], passed: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hostagent.launch import launcher

    runs: list[launcher.RunOptions] = []
    monkeypatch.setattr(launcher, "run_training", kept_in(runs))
    assert netsum("run", *(["-n", "1"] if words[0] == "train.py" else []), *words).exit_code == 0
    assert (runs[0].ranks, runs[0].script, runs[0].arguments) == passed


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        (["--test-dir", "mine", "--interface", "1@v"], ["--test-dir", "mine", "--interface", "1@v"]),
        (["--", "--help"], ["--help"]),
        ([], []),
    ],
)
def test_ptf_gets_all_options_unchanged(words: list[str], passed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from hostagent.cli import programs

    monkeypatch.setattr(programs, "find_ptf", lambda: "ptf")
    monkeypatch.setattr(runpy, "run_path", lambda path, run_name: None)
    monkeypatch.setattr(sys, "argv", [])
    assert netsum("ptf", *words).exit_code == 0
    assert sys.argv == ["ptf", *passed]


def test_options_and_arguments_may_be_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    from emulator.harness.stf import command

    calls: list[tuple[object, ...]] = []

    def run_stf(*words: Any, **options: Any) -> int:
        calls.append((words, options["engine"]))
        return 0

    monkeypatch.setattr(command, "run_stf", run_stf)
    assert netsum("stf", "-D", "A=1", "r.p4", "a.stf", "--engine", "both", "b.stf").exit_code == 0
    assert calls == [(("r.p4", ["a.stf", "b.stf"]), "both")]


def test_a_reader_that_has_gone_is_no_error() -> None:
    """As `head`, when it has read enough."""
    reading_end, writing_end = os.pipe()
    os.close(reading_end)
    words = [sys.executable, "-m", "hostagent.cli.main", "topology", "build", "star", "2"]
    done = subprocess.run(words, stdout=writing_end, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing_end)
    assert (done.returncode, done.stderr) == (141, "")
