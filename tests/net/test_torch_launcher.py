"""``netsum run``: what it starts, what it says when something fails, and that nothing of it stays."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.ports.batch import frame_at
from emulator.ports.pcap.capture import read_capture
from emulator.ports.pcap.writer import IN, OUT
from hostagent.protocol.frames import parse_frame
from hostagent.protocol.wire import Kind
from hostagent.protocol.wireshark import lua_source
from tests.labs.torch_jobs import SCRIPTS

PATIENCE_S = 100.0
LANES = "64"


@pytest.fixture
def shared(tmp_path, monkeypatch) -> Iterator[Path]:
    """A folder of its own for shared memory; what is left there after a test is the run's."""
    folder = Path(f"/dev/shm/test-{os.getpid()}-{tmp_path.name}")
    folder.mkdir()
    monkeypatch.setenv("NETSUM_SHM", str(folder))
    yield folder
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def command(*arguments: str, script: str = "steps.py", ranks: int = 2) -> list[str]:
    options = ["run", "-n", str(ranks), "--lanes", LANES]
    return [sys.executable, "-m", "hostagent.cli.main", *options, str(SCRIPTS / script), *arguments]


def start(*arguments: str, ranks: int = 2) -> subprocess.Popen[str]:
    words = command(*arguments, ranks=ranks)
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def descendants(pid: int) -> dict[int, str]:
    """All processes below one, with their command lines."""
    found: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                line = (folder / "cmdline").read_text().replace("\0", " ").strip()
            except OSError:
                continue
            found[int(folder.name)] = line
            PARENT[int(folder.name)] = parent
    return {child: line for child, line in found.items() if line and _below(child, pid)}


PARENT: dict[int, int] = {}


def _below(pid: int, ancestor: int) -> bool:
    while pid > 1:
        pid = PARENT.get(pid, 0)
        if pid == ancestor:
            return True
    return False


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pids: dict[int, str]) -> bool:
    end_s = time.monotonic() + 20
    while time.monotonic() < end_s:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def until_step(process: subprocess.Popen[str], step: int) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(f"step {step}"):
            return
    raise AssertionError(f"it ended before step {step}: {process.stderr.read() if process.stderr else ''}")


def test_a_run_ends_well_and_leaves_nothing(shared, tmp_path):
    """In a folder with a file of the name of a package that the controller imports."""
    (tmp_path / "p4.py").write_text("raise SystemExit('this is no package of P4Runtime')")
    words = command()
    words.insert(1, "-P")  # as the console script starts it
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 0, ended.stderr
    assert "rank 0 of 2 has done 20 steps" in ended.stdout
    assert "rank 1 of 2 has done 20 steps" in ended.stdout
    assert list(shared.iterdir()) == []


def test_ranks_may_fork(shared):
    """gRPC's fork handlers would crash most children."""
    ended = subprocess.run(command(script="loader.py"), capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("loaded") == 2
    assert "fork" not in ended.stderr


def test_a_rank_that_raises_ends_the_run_with_its_name_and_reason(shared):
    ended = subprocess.run(command("raise"), capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 1
    assert "netsum run: rank 1 raised ValueError: two is enough" in ended.stderr
    assert ended.stderr.count("netsum run: rank") == 1
    assert list(shared.iterdir()) == []


def test_a_killed_rank_is_named(shared):
    ended = subprocess.run(command("kill"), capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 128 + 9
    assert "netsum run: rank 1 was killed by SIGKILL" in ended.stderr
    assert list(shared.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_ends_everything(shared, number):
    process = start("endless")
    until_step(process, 3)
    below = descendants(process.pid)
    assert len(below) >= 5  # switch, controller, torch's launcher, two ranks
    process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number
    assert gone(below)
    assert list(shared.iterdir()) == []


def test_a_killed_launcher_leaves_no_process_and_its_memory_is_cleaned(shared):
    process = start("endless")
    until_step(process, 3)
    below = descendants(process.pid)
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    assert gone(below), [line for pid, line in below.items() if alive(pid)]
    ended = subprocess.run(command(), capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 0, ended.stderr
    assert list(shared.iterdir()) == []


@pytest.mark.parametrize("service", ["switch", pytest.param("controller", marks=pytest.mark.slow)])
def test_a_killed_service_is_started_again_and_no_sum_is_lost(shared, service):
    process = start("slow")
    until_step(process, 3)
    [victim] = [pid for pid, line in descendants(process.pid).items() if f"hostagent.cli.main {service}" in line]
    os.kill(victim, signal.SIGKILL)
    output, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    assert f"the {service} was killed by SIGKILL; restarted" in errors
    assert "rank 0 of 2 has done 20 steps" in output
    assert list(shared.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--aggregator", "p4:no-such.p4", str(SCRIPTS / "steps.py")], 2, "no-such.p4"),
        (["--aggregator", "abacus", str(SCRIPTS / "steps.py")], 2, "abacus"),
        (["no-such-script.py"], 2, "no-such-script.py"),
        (["--nproc-per-node", "65", str(SCRIPTS / "steps.py")], 2, "a job has at most 64 ranks"),
        (["--controller", "127.0.0.1:9", str(SCRIPTS / "steps.py")], 2, "no controller answers at 127.0.0.1:9"),
    ],
)
def test_what_cannot_be_started_is_said_in_one_message(shared, arguments, status, message):
    line = [sys.executable, "-m", "hostagent.cli.main", "run", "-n", "2", *arguments]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == status
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert list(shared.iterdir()) == []


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("NETSUM_STRAGGLERS", "abide", "NETSUM_STRAGGLERS is 'abide', must be wait, fail or proceed"),
        ("NETSUM_SHARE", "half", "NETSUM_SHARE='half': expected a whole number from 1 to 16"),
        ("NETSUM_PRIORITY", "high", "NETSUM_PRIORITY='high': expected a whole number from -100 to 100"),
    ],
)
def test_a_wrong_variable_is_said_once_and_no_rank_starts(variable, value, message):
    line = [sys.executable, "-m", "hostagent.cli.main", "run", "-n", "2", str(SCRIPTS / "steps.py")]
    environment = {**os.environ, variable: value}
    ended = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", f"netsum run: {message}\n")


def test_a_run_without_sums_says_so_and_what_to_do(shared):
    ended = subprocess.run(command("gloo", script="backend_of.py"), capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("[2.0, 2.0, 2.0, 2.0]") == 2
    assert "netsum run: nothing went through the switch: no rank made a netsum group" in ended.stderr
    assert "--replace-backend gloo" in ended.stderr


@pytest.mark.parametrize(
    "asked", [["gloo"], *(pytest.param(words, marks=pytest.mark.slow) for words in ([], ["cpu:gloo"]))]
)
def test_netsum_takes_the_place_of_another_backend(shared, asked):
    line = [*command()[:-1], "--replace-backend", "gloo", str(SCRIPTS / "backend_of.py"), *asked]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("[2.0, 2.0, 2.0, 2.0]") == 2
    assert "nothing went through" not in ended.stderr


def test_a_stopped_rank_is_named_at_once_and_is_the_cause(shared):
    process = start("endless")
    until_step(process, 3)
    ranks = {pid: line for pid, line in descendants(process.pid).items() if line.endswith("steps.py endless")}
    [victim] = [pid for pid in ranks if b"RANK=1\0" in Path(f"/proc/{pid}/environ").read_bytes()]
    os.kill(victim, signal.SIGSTOP)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert f"netsum run: rank 1 (process {victim}) is stopped: in 5 s netsum ends the job" in errors
    assert f"netsum run: rank 1 was stopped (process {victim}, SIGSTOP) and did not go on" in errors
    assert list(shared.iterdir()) == []


@pytest.mark.slow
def test_a_stopped_switch_is_named_and_may_go_on(shared):
    process = start("slow")
    until_step(process, 3)
    [victim] = [pid for pid, line in descendants(process.pid).items() if "hostagent.cli.main switch" in line]
    os.kill(victim, signal.SIGSTOP)
    assert process.stderr is not None
    lines = iter(process.stderr.readline, "")
    assert any(f"the switch (process {victim}) is stopped; the ranks wait for it" in line for line in lines)
    os.kill(victim, signal.SIGCONT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    assert f"the switch (process {victim}) goes on" in errors


@pytest.mark.parametrize(
    ("core", "said"),
    [
        (
            "Raises",
            r"the aggregator ended with exit code 1 \(.*KeyError: 'the reason' \(at troubled_cores.py:\d+, in pr",
        ),
        pytest.param(
            "Hangs",
            r"process\(\) has not returned for 1\d s, .* at troubled_cores.py:\d+, in Hangs.process",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_core_in_trouble_is_named_with_its_line(shared, monkeypatch, tmp_path, core, said):
    monkeypatch.setenv("PYTHONPATH", str(SCRIPTS))
    monkeypatch.setenv("TROUBLED_ONCE", str(tmp_path / "once"))
    line = [*command()[:-1], "--aggregator", f"core:troubled_cores:{core}", str(SCRIPTS / "backend_of.py"), "netsum"]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 0, ended.stderr
    assert re.search(said, ended.stderr), ended.stderr


def test_a_home_that_cannot_be_written_is_no_reason_to_fail(shared, tmp_path):
    """The substitute is a folder of the user's among the temporary files; doctor names both."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    kept = {name: value for name, value in os.environ.items() if name not in ("NETSUM_CACHE", "XDG_CACHE_HOME")}
    environment = {**kept, "HOME": "/proc", "TMPDIR": str(temporary)}
    doctor = [sys.executable, "-m", "hostagent.cli.main", "doctor"]
    said = subprocess.run(doctor, capture_output=True, text=True, timeout=PATIENCE_S, env=environment).stdout
    assert re.search(rf"/proc/.cache/netsum: .*; {temporary}/netsum-cache-\d+ is used instead", said), said
    compiled = (
        "import numpy as np; from emulator.ports.cable.shm import _load; v = np.array([7]); print(_load(v.ctypes.data))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", compiled], capture_output=True, text=True, timeout=PATIENCE_S, env=environment
    )
    assert ended.stdout.strip() == "7", ended.stderr


def test_a_capture_of_a_run_has_every_frame_of_both_ranks(shared: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.pcapng"
    words = command("3")  # steps
    words[4:4] = ["--capture", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    capture = read_capture(str(path))
    assert f"switch: {path} has {len(capture.records)} frames of 2 ports" in done.stderr
    passed = set()
    for record in capture.records:
        content = frame_at(int(record["address"]), int(record["length_bytes"]))
        header = parse_frame(content, at_destination=False).header
        passed.add((capture.interfaces[record["interface"]], int(record["direction"]), header.child, header.kind))
    kinds = {(IN, Kind.CONTRIBUTION), (OUT, Kind.RESULT)}
    assert passed >= {(f"port {child + 1}", way, child, kind) for child in (0, 1) for way, kind in kinds}
    if tshark := shutil.which("tshark"):
        (tmp_path / "netsum.lua").write_text(lua_source())
        words = [tshark, "-X", f"lua_script:{tmp_path}/netsum.lua", "-r", str(path), "-Y", "netsum && !_ws.expert"]
        lines = subprocess.run(
            words, capture_output=True, text=True, check=True, timeout=PATIENCE_S
        ).stdout.splitlines()
        assert len(lines) == len(capture.records)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--capture", "x.pcap"], "name the file *.pcapng"),
        (["--capture", "/nowhere/x.pcapng"], "its folder is not there, or cannot be written"),
        (["--capture", "x.pcapng", "--aggregator", "server"], "--capture is made by P4 switches"),
        (["--capture-size", "1GB"], "requires --capture FILE"),
        (["--capture", "x.pcapng", "--capture-size", "much"], "'much' is not a size"),
    ],
)
def test_captures_that_cannot_be_made(words: list[str], why: str) -> None:
    line = command()
    line[4:4] = words
    done = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode != 0
    assert why in done.stderr
