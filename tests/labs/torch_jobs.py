"""Ranks as real processes, started as torchrun would, against an aggregator that several tests share."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SCRIPTS = Path(__file__).parents[1] / "net/torch_scripts"
PATIENCE_S = 100.0


@dataclass
class Rank:
    """One process of a job."""

    number: int
    process: subprocess.Popen[str]

    def finish(self, timeout_s: float = PATIENCE_S) -> tuple[int, str]:
        """Its exit code, and everything it printed."""
        output, _ = self.process.communicate(timeout=timeout_s)
        return self.process.returncode, output


def free_port() -> int:
    """A TCP port nobody has just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def ranks(size: int, controller: str, script: str, *arguments: str) -> Iterator[list[Rank]]:
    """So many ranks of a script in torch_scripts. None survives the block."""
    port = free_port()
    started = []
    for number in range(size):
        environment = os.environ | {
            "NETSUM_CONTROLLER": controller,
            "RANK": str(number),
            "LOCAL_RANK": str(number),
            "WORLD_SIZE": str(size),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-u", str(SCRIPTS / script), *arguments]
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(Rank(number, process))
    try:
        yield started
    finally:
        for rank in started:
            if rank.process.poll() is None:
                rank.process.send_signal(signal.SIGKILL)
            rank.process.wait()
            if rank.process.stdout is not None:
                rank.process.stdout.close()


def run(size: int, controller: str, script: str, *arguments: str) -> list[str]:
    """All ranks to their end; their outputs. Fails with the first output of a rank that did."""
    with ranks(size, controller, script, *arguments) as started:
        ends = [rank.finish() for rank in started]
    for number, (code, output) in enumerate(ends):
        assert code == 0, f"rank {number} ended with {code}:\n{output}"
    return [output for _, output in ends]


def run_forked(size: int, controller: str, script: str, *arguments: str) -> str:
    """As ``run``, for scripts whose imports take long (see ``forked_ranks``); the output of all ranks."""
    line = [sys.executable, "-u", "-m", "tests.labs.forked_ranks", str(size), str(SCRIPTS / script), *arguments]
    environment = {**os.environ, "NETSUM_CONTROLLER": controller}
    ended = subprocess.run(
        line,
        env=environment,
        cwd=SCRIPTS.parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def children_of(pid: int) -> dict[int, str]:
    """Children of that process, with their command lines."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                line = (folder / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
            if parent == pid:
                found[int(folder.name)] = line
    return found
