"""The controller as a process of its own: its ready line, its errors, and kill -9 of it and of a rank."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from emulator.p4runtime.device import Device
from emulator.p4runtime.server import P4RuntimeServer
from hostagent.launch.processes import netsum_command
from hostagent.transport.session.session import JobFailed, Lease, SessionClient
from tests.fakes.fake_switch import fake_target
from tests.programs.aggregator_p4info import aggregator_p4info_text

WAIT_S = 30.0

RANK = """
import sys, time
from hostagent.transport.session.session import SessionClient
class Callbacks:
    def on_freeze(self, job): return 0
    def on_resume(self, job, lease): pass
    def on_failed(self, job, cause): pass
    def on_collect(self, job): return {}
    def on_describe(self, job, operation): return ""
    def on_peer_left(self, job, rank, next_chunk): pass
    def on_proceed(self, job, units): pass
client = SessionClient(sys.argv[1], Callbacks())
client.lease(client.join("world", 1, 2))
print("leased", flush=True)
time.sleep(600)
"""


class Rank:
    """A rank in this process."""

    def __init__(self, address: str) -> None:
        self.cause, self.failed, self.frozen = "", threading.Event(), threading.Event()
        self.client = SessionClient(address, self)

    def on_freeze(self, job: int) -> int:
        self.frozen.set()
        return 0

    def on_resume(self, job: int, lease: Lease) -> None:
        pass

    def on_failed(self, job: int, failure: JobFailed) -> None:
        self.cause = str(failure)
        self.failed.set()

    def on_collect(self, job: int) -> dict[str, int]:
        return {}

    def on_describe(self, job: int, operation: int) -> str:
        return ""

    def on_peer_left(self, job: int, rank: int, next_chunk: int) -> None:
        pass

    def on_proceed(self, job: int, units: object) -> None:
        pass


class Controllers:
    """Starts controller processes and is sure to end them."""

    def __init__(self, folder: Path, switch: str) -> None:
        source = folder / "allreduce.p4"
        source.write_text(aggregator_p4info_text())
        self.program = source
        self.switch, self.state = switch, folder / "state.json"
        self.started: list[subprocess.Popen[str]] = []

    def start(self, listen: str = "127.0.0.1:0", *more: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
        """A process and its ready line; an empty one where it ended instead."""
        words = ["--listen", listen, "--aggregator", f"p4runtime://{self.switch}", "--program", str(self.program)]
        ports = ["--port", "1=shm:a", "--port", "2=shm:b", "--state", str(self.state)]
        command = netsum_command("controller", *words, *ports, *more)
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        return process, json.loads(line) if line else {}

    def end(self) -> None:
        for process in self.started:
            process.kill()
            process.communicate()


@pytest.fixture
def controllers(tmp_path: Path) -> Iterator[Controllers]:
    server = P4RuntimeServer(Device(0, fake_target()), "127.0.0.1:0")
    made = Controllers(tmp_path, server.address)
    yield made
    made.end()
    server.stop(0)


def gather(address: str) -> tuple[list[Rank], list[Lease]]:
    ranks = [Rank(address), Rank(address)]
    with ThreadPoolExecutor(2) as pool:
        leases = pool.map(lambda n: ranks[n].client.lease(ranks[n].client.join("world", n, 2), WAIT_S), range(2))
        return ranks, list(leases)


def test_killed_and_started_again_it_serves_the_same_jobs(controllers: Controllers) -> None:
    process, ready = controllers.start()
    assert ready["ready"] is True
    ranks, leases = gather(ready["address"])
    process.kill()
    process.wait(WAIT_S)
    _, again = controllers.start(ready["address"])
    assert again["address"] == ready["address"]
    memberships = [rank.client._jobs[lease.job].membership for rank, lease in zip(ranks, leases, strict=True)]
    for rank, membership, lease in zip(ranks, memberships, leases, strict=True):
        assert rank.client.lease(membership, WAIT_S) == lease
        assert not rank.frozen.is_set()
        assert not rank.failed.is_set()
    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(lambda rank: rank.client.leave(leases[0].job, 0, timeout_s=WAIT_S), ranks))
    assert json.loads(controllers.state.read_text())["jobs"] == []
    for rank in ranks:
        rank.client.close()


def test_a_rank_killed_is_named_to_the_other_within_ten_seconds(controllers: Controllers) -> None:
    _, ready = controllers.start()
    survivor = Rank(ready["address"])
    victim = subprocess.Popen([sys.executable, "-c", RANK, ready["address"]], stdout=subprocess.PIPE, text=True)
    try:
        survivor.client.lease(survivor.client.join("world", 0, 2), WAIT_S)
        assert victim.stdout is not None
        assert victim.stdout.readline() == "leased\n"
        victim.kill()
        assert survivor.failed.wait(10.0)
        assert f"rank 1 of group 'world' (process {victim.pid}" in survivor.cause
    finally:
        victim.kill()
        victim.communicate()
        survivor.client.close()


def test_more_ranks_than_ports_are_refused_before_any_starts(controllers: Controllers, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('started')")
    _, ready = controllers.start()
    command = netsum_command("run", "-n", "3", "--controller", ready["address"], str(tmp_path / "train.py"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    why = f"netsum run: -n 3: the controller at {ready['address']} has 2 ports; start the aggregator and the controller"
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(why), done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_sigterm_ends_it_in_order(controllers: Controllers) -> None:
    process, _ = controllers.start()
    process.send_signal(signal.SIGTERM)
    assert process.wait(WAIT_S) == 0


def test_a_port_in_use_is_one_clear_line(controllers: Controllers) -> None:
    _, ready = controllers.start()
    process, nothing = controllers.start(ready["address"])
    assert nothing == {}
    assert process.wait(WAIT_S) == 1
    assert process.stderr is not None
    (line,) = [line for line in process.stderr.read().splitlines() if line.startswith("netsum controller:")]
    assert f"can't listen on {ready['address']}" in line


def test_it_ends_with_the_process_that_started_it(controllers: Controllers, tmp_path: Path) -> None:
    words = ["--aggregator", f"p4runtime://{controllers.switch}", "--program", str(controllers.program)]
    command = netsum_command("controller", *words, "--die-with-parent")
    starter = (
        "import subprocess, sys; p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE);"
        "print(p.pid, flush=True); p.stdout.readline(); print('ready', flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", starter, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert parent.stdout.readline() == "ready\n"
    watch = os.pidfd_open(pid)
    parent.kill()
    parent.communicate()
    import select

    assert select.select([watch], [], [], WAIT_S)[0]
    os.close(watch)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--port", "0=shm:x"], "port 0 is not for hosts"),
        (["--max-window", "100"], "expected a power of two from 8 to 512"),
        (["--p4info", "x"], "give --program FILE.p4, or --p4info FILE and --device-config FILE, not both"),
        (["--program", "/nonexistent.p4"], "/nonexistent.p4"),
    ],
)
def test_wrong_options_are_one_clear_line(controllers: Controllers, words: list[str], message: str) -> None:
    process, nothing = controllers.start("127.0.0.1:0", *words)
    assert nothing == {}
    assert process.wait(WAIT_S) == 1
    assert process.stderr is not None
    text = process.stderr.read()
    assert message in text
    assert text.startswith("netsum controller: ")
    assert len(text.splitlines()) == 1
