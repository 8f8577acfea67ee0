"""Random programs of collectives and messages against a plain model, in virtual time and on real ranks.

    python -m tests.soaks.program_soak --programs 10000 --jobs 2
    python -m tests.soaks.program_soak --live --programs 500

In virtual time: real process groups on real cores, with faults (``tests.labs.virtual_job``). A program that fails is
printed with its smallest form found and the line that repeats it. ``--live``: five processes, shared memory and the
compiled switch, with impairments and a switch that is killed (``tests.labs.live_programs``).
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from torch._C._distributed_c10d import HashStore

from hostagent.torch_backend.group import NetsumProcessGroup
from tests.generators.collective_programs import Program, draw
from tests.labs.live_programs import run_live
from tests.labs.program_ranks import Outcome, differences, play
from tests.labs.torch_ranks import TIMEOUT
from tests.labs.virtual_job import Faults, VirtualNetwork, draw_faults

REPORT_EVERY = 500
CHUNK, MOST_CHUNKS = 10, 40
"""Programs that a process is given at a time; and how often, before another takes its place: its memory grows by up to
4 MiB with each."""
LIVE_BLOCK = 50
LIVE = (
    ("", 0.0),
    ("loss=0.01", 0.0),
    ("loss=0.05&duplicate=0.05", 0.0),
    ("delay=1ms&jitter=1ms&reorder=0.1", 0.0),
    ("corrupt=0.002", 0.0),
    ("rate=100Mbit&delay=500us&loss=0.01", 0.0),
    ("loss=0.01", 4.0),
)
"""Impairments of every port, and how often the switch is killed, in seconds (0: never): for blocks of LIVE_BLOCK."""


def run(program: Program, faults: Faults) -> list[str]:
    """What is wrong with a program in virtual time."""
    network = VirtualNetwork(faults)
    groups: list[list[Any]] = []
    for group in program.groups:
        size, channels = len(group.members), iter(network.join(group.members))
        groups.append(
            [
                NetsumProcessGroup(
                    HashStore(), group.members.index(rank), size, TIMEOUT, next(channels), exact=group.exact
                )
                if rank in group.members
                else None
                for rank in range(program.ranks)
            ]
        )

    def body(rank: int) -> Outcome:
        mine = [group[rank] for group in groups]
        outcome = play(program, rank, mine, faults.lanes, lambda: network.pause(rank))
        network.is_over |= bool(outcome.problems)
        return outcome

    outcomes, problem = network.run([lambda rank=rank: body(rank) for rank in range(program.ranks)])  # type: ignore[misc]
    found = differences([outcome for outcome in outcomes if outcome is not None])
    return [*found, problem] if problem else found


def shrink(program: Program, faults: Faults) -> tuple[Program, Faults]:
    """Leave out steps and faults while something is still wrong."""
    changed = True
    while changed:
        changed = False
        for at in reversed(range(len(program.steps))):
            fewer = replace(program, steps=program.steps[:at] + program.steps[at + 1 :])
            if run(fewer, faults):
                program, changed = fewer, True
        for item in fields(Faults):
            if item.name in ("seed", "lanes") or getattr(faults, item.name) == item.default:
                continue
            change: dict[str, Any] = {item.name: item.default}
            simpler = replace(faults, **change)
            if run(program, simpler):
                faults, changed = simpler, True
    return program, faults


def explain(seed: int) -> str:
    """What to print of a program that fails."""
    program, faults = shrink(draw(seed), draw_faults(seed))
    lines = [f"program {seed} of {draw(seed).ranks} ranks: {problem}" for problem in run(draw(seed), draw_faults(seed))]
    lines += ["smallest found:", program.describe(), f"  {faults}"]
    lines += [f"  {problem}" for problem in run(program, faults)]
    lines.append(f"repeat with: python -m tests.soaks.program_soak --first {seed} --programs 1")
    return "\n".join(lines)


def find(seed: int) -> str:
    """One program in virtual time: an empty string, or what to print."""
    return explain(seed) if run(draw(seed), draw_faults(seed)) else ""


def virtual(first: int, count: int, jobs: int) -> int:
    """How many programs fail."""
    started_s, failed = time.monotonic(), 0
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=MOST_CHUNKS) as pool:
        for number, text in enumerate(pool.imap(find, range(first, first + count), chunksize=CHUNK), 1):
            failed += bool(text)
            if text:
                print(text, flush=True)
            if number % REPORT_EVERY == 0 or number == count:
                print(f"{number} programs, {failed} failed, {time.monotonic() - started_s:.0f} s", flush=True)
    return failed


def live(first: int, count: int) -> int:
    """How many blocks of programs fail."""
    started_s, failed = time.monotonic(), 0
    for begin in range(first, first + count, LIVE_BLOCK):
        many = min(LIVE_BLOCK, first + count - begin)
        impairments, kill_every_s = LIVE[begin // LIVE_BLOCK % len(LIVE)]
        with tempfile.TemporaryDirectory(prefix="netsum-programs-") as folder:
            problems = run_live(begin, many, impairments, Path(folder), kill_every_s=kill_every_s)
        failed += bool(problems)
        words = impairments or "no impairments"
        words += f", switch killed every {kill_every_s:g} s" if kill_every_s else ""
        spent_s = time.monotonic() - started_s
        print("\n".join([*problems, f"live: {begin - first + many} programs ({words}), {spent_s:.0f} s"]), flush=True)
    return failed


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--programs", type=int, default=10_000, help="number of programs")
    options.add_argument("--first", type=int, default=1, help="seed of the first; the others follow")
    options.add_argument("--jobs", type=int, default=1, help="processes that play programs in virtual time")
    options.add_argument("--live", action="store_true", help="on real ranks")
    given = options.parse_args()
    if given.live:
        failed = live(given.first, given.programs)
    else:
        failed = virtual(given.first, given.programs, given.jobs)
    print(f"{given.programs} programs: " + (f"{failed} failures" if failed else "all as the model says"))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
