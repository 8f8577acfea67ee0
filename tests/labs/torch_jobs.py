"""Ranks as real processes, started as torchrun would, against an aggregator that several tests share."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TextIO

SCRIPTS = Path(__file__).parents[1] / "net/torch_scripts"
PATIENCE_S = 100.0

FORKING = multiprocessing.get_context("forkserver")
"""A process of this one's that has imported torch, from which ranks are forked: each would take 2.5 s of CPU for it."""
FORKING.set_forkserver_preload(["torch", "hostagent.torch_backend.creation", "hostagent.transport.process"])


@dataclass
class Rank:
    """One process of a job."""

    number: int
    process: BaseProcess
    output: TextIO
    """Everything it prints."""

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def finish(self, timeout_s: float = PATIENCE_S) -> tuple[int, str]:
        """Its exit code, and everything it printed; -9 if it was still running after this time."""
        killer = threading.Timer(timeout_s, self.process.kill)
        killer.start()
        output = self.output.read()
        self.process.join()
        killer.cancel()
        assert self.process.exitcode is not None
        return self.process.exitcode, output


def free_port() -> int:
    """A TCP port nobody has just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def become_rank(words: Sequence[str], environment: Mapping[str, str], output: Connection) -> None:
    """In a forked process: what ``python -u SCRIPT ARGUMENT ...`` would do, with this environment."""
    import torch
    from torch._C._distributed_c10d import set_debug_level_from_env

    for descriptor in (1, 2):
        os.dup2(output.fileno(), descriptor)
    output.close()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through=True)  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(environment)
    torch.set_num_threads(1)
    set_debug_level_from_env()  # torch reads it when it is imported
    sys.argv[:] = words
    sys.path.insert(0, str(Path(words[0]).parent))
    try:
        runpy.run_path(words[0], run_name="__main__")
    finally:
        atexit._run_exitfuncs()


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
        reader, writer = FORKING.Pipe(duplex=False)
        words = [str(SCRIPTS / script), *arguments]
        process = FORKING.Process(target=become_rank, args=(words, environment, writer), daemon=True)
        process.start()
        writer.close()
        with reader:
            started.append(Rank(number, process, os.fdopen(os.dup(reader.fileno()))))
    try:
        yield started
    finally:
        for rank in started:
            rank.process.kill()
            rank.process.join()
            rank.output.close()


def run(size: int, controller: str, script: str, *arguments: str) -> list[str]:
    """All ranks to their end; their outputs. Fails with the first output of a rank that did."""
    with ranks(size, controller, script, *arguments) as started:
        ends = [rank.finish() for rank in started]
    for number, (code, output) in enumerate(ends):
        assert code == 0, f"rank {number} ended with {code}:\n{output}"
    return [output for _, output in ends]


def run_forked(size: int, controller: str, script: str, *arguments: str, patience_s: float = PATIENCE_S) -> str:
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
        timeout=patience_s,
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


def switches_of(pid: int) -> list[int]:
    """Process ids of a run's aggregators, the root's first: they are started in the tree's order."""
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        if not {b"switch", b"server", b"aggregator"}.isdisjoint(words):
            found.append(int(child))
    return sorted(found)
