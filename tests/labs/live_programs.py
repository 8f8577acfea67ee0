"""Programs of ``tests.generators.collective_programs`` on real ranks: processes, shared memory, a compiled switch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from hostagent.launch.aggregators import running_aggregator
from hostagent.launch.processes import Service
from tests.generators.collective_programs import MOST_RANKS, draw
from tests.labs.program_ranks import Outcome, differences
from tests.labs.torch_jobs import SCRIPTS

LANES = 64
SECONDS_PER_PROGRAM = 10.0
"""Of patience, beyond the first minute."""


def run_live(first: int, count: int, impairments: str, folder: Path, *, kill_every_s: float = 0.0) -> list[str]:
    """What is wrong with these programs. ``kill_every_s``: the switch is killed so often and started again."""
    with running_aggregator(MOST_RANKS, lanes=LANES, impairments=impairments, folder=folder) as aggregator:
        line = [sys.executable, "-u", "-W", "ignore", "-m", "tests.labs.forked_ranks", str(MOST_RANKS)]
        line += [str(SCRIPTS / "programs.py"), str(first), str(count), str(LANES)]
        ranks = subprocess.Popen(
            line,
            env={**os.environ, "NETSUM_CONTROLLER": aggregator.address},
            cwd=SCRIPTS.parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        over = threading.Event()
        killer = threading.Thread(target=kill_again_and_again, args=(aggregator.services[0], kill_every_s, over))
        if kill_every_s:
            killer.start()
        try:
            output, _ = ranks.communicate(timeout=60 + SECONDS_PER_PROGRAM * count)
        except subprocess.TimeoutExpired:
            return [f"programs {first} to {first + count - 1} did not end"]
        finally:
            over.set()
            if kill_every_s:
                killer.join()
            with suppress(ProcessLookupError):
                os.killpg(ranks.pid, 9)
            ranks.wait()
    return problems_of(first, count, output)


def kill_again_and_again(switch: Service, every_s: float, over: threading.Event) -> None:
    while not over.wait(every_s):
        assert switch.process is not None
        switch.process.kill()
        switch.starts.clear()  # it is no broken one, however often
        switch.restart()
        switch.wait_ready()


def problems_of(first: int, count: int, output: str) -> list[str]:
    """From what the ranks printed."""
    outcomes: dict[int, list[Outcome]] = {}
    other = []
    for line in output.splitlines():
        if not line.startswith('{"seed"'):
            other.append(line)
            continue
        said = json.loads(line)
        digests = {int(step): digest for step, digest in said["digests"].items()}
        outcomes.setdefault(said["seed"], []).append(Outcome(said["problems"], digests))
    for seed in range(first, first + count):
        said_by = outcomes.get(seed, [])
        problems = differences(said_by)
        if not problems and len(said_by) < MOST_RANKS:
            problems = [f"{len(said_by)} of {MOST_RANKS} ranks came to its end", *other]
        if problems:
            again = f"repeat with: python -m tests.soaks.program_soak --live --first {seed} --programs 1"
            return [f"program {seed}: {problem}" for problem in problems] + [draw(seed).describe(), again]
    return []
