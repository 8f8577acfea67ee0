"""Random programs of collectives and messages against a plain model.

    python -m tests.soaks.program_soak --programs 10000 --first 1

In virtual time, with faults: real process groups on real cores (``tests.labs.virtual_job``). A program that fails is
printed with its smallest form found and the line that repeats it.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import fields, replace
from typing import Any

from torch._C._distributed_c10d import HashStore

from hostagent.torch_backend.group import NetsumProcessGroup
from tests.generators.collective_programs import Program, draw
from tests.labs.program_ranks import Outcome, differences, play
from tests.labs.torch_ranks import TIMEOUT
from tests.labs.virtual_job import Faults, VirtualNetwork, draw_faults

REPORT_EVERY = 500


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
    return found + [problem] if problem else found


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
            simpler = replace(faults, **{item.name: item.default})
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


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--programs", type=int, default=10_000, help="number of programs")
    options.add_argument("--first", type=int, default=1, help="seed of the first; the others follow")
    given = options.parse_args()
    started_s, failed = time.monotonic(), 0
    for number, seed in enumerate(range(given.first, given.first + given.programs), 1):
        if run(draw(seed), draw_faults(seed)):
            failed += 1
            print(explain(seed), flush=True)
        if number % REPORT_EVERY == 0:
            print(f"{number} programs, {failed} failed, {time.monotonic() - started_s:.0f} s", flush=True)
    print(f"{given.programs} programs, {failed} failed, {time.monotonic() - started_s:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
