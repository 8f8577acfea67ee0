"""Explore what can happen to small jobs on the compiled P4 program, exhaustively within stated bounds.

make explore                                                        every scenario of tests/explore/scenarios.py
python -m tests.explore star-2-loss tree-2-loss                     some of them
python -m tests.explore --workers 2 --losses 1 --restarts 1         one of your own
python -m tests.explore --workers 2 --replay 'begin deliver:0 ...'  play a run that was found, event by event
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from multiprocessing.managers import DictProxy
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tests.explore.exploration import Exploration, Outcome
from tests.explore.machines import WORKER_FAULTS
from tests.explore.scenario import PROGRAM, Bounds, Scenario
from tests.explore.scenarios import SCENARIOS
from tests.explore.trace import Player, tell

LOOK_S = 0.5
MOST_STATES = 16_000_000
"""Of one scenario: they take about 2 GB."""


def main(arguments: list[str] | None = None) -> int:
    """0: all that was explored is right; 1: something is wrong; 2: some of it was not explored to its end."""
    options = _options(arguments)
    if options.list:
        width = max(map(len, SCENARIOS))
        for name, scenario in SCENARIOS.items():
            print(f"{name:{width}} {scenario}")
        return 0
    own = _own_scenario(options)
    if options.replay:
        return replay(own or Scenario(2), options.replay)
    chosen = {"your own": own} if own else {name: SCENARIOS[name] for name in options.scenarios or SCENARIOS}
    outcomes = explore_all(chosen, options)
    report(outcomes, options.json)
    if any(outcome["problem"] for outcome in outcomes.values()):
        return 1
    return 0 if all(outcome["is_complete"] for outcome in outcomes.values()) else 2


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.explore", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="names from --list; none: all of them")
    parser.add_argument("--list", action="store_true", help="names and bounds of the scenarios")
    parser.add_argument("--jobs", type=_positive, default=2, help="scenarios explored at a time (default 2)")
    parser.add_argument("--minutes", type=float, default=10.0, help="stop after that long (default 10)")
    parser.add_argument("--states", type=_positive, default=MOST_STATES, help="stop a scenario at so many states")
    parser.add_argument("--json", metavar="FILE", help="write the outcomes there; - for standard output")
    own = parser.add_argument_group("a scenario of your own")
    own.add_argument("--workers", type=int, choices=(1, 2, 3, 4))
    own.add_argument(
        "--leaves", type=_numbers, default=(), help="workers below each leaf, such as 1,1 (default: a star)"
    )
    own.add_argument("--window", type=int, choices=(1, 2, 4), default=2, help="slots (default 2)")
    own.add_argument("--operations", type=_numbers, default=(3,), help="chunks of each operation (default 3)")
    own.add_argument("--base", type=int, default=0, help="first chunk (default 0)")
    for bound in ("losses", "duplicates", "restarts", "early"):
        own.add_argument(f"--{bound}", type=_count, default=0, help="at most so many in one run (default 0)")
    own.add_argument("--program", default=PROGRAM, help=f"P4 program (default {PROGRAM})")
    own.add_argument("--lanes", type=_positive, default=64, help="of the program (default 64)")
    own.add_argument("--fault", choices=sorted(WORKER_FAULTS), default="", help="make the workers wrong")
    own.add_argument("--replay", metavar="EVENTS", help="play these events instead, as printed with a problem")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.scenarios if name not in SCENARIOS]
    if unknown:
        parser.error(f"there is no scenario {unknown[0]!r}: --list names them")
    if options.leaves and (options.workers != sum(options.leaves) or len(options.leaves) < 2):
        parser.error("--leaves needs two leaves at least, and --workers the sum of their workers")
    return options


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(_positive(part) for part in text.split(","))


def _own_scenario(options: argparse.Namespace) -> Scenario | None:
    if options.workers is None:
        return None
    bounds = Bounds(options.losses, options.duplicates, options.restarts, options.early)
    place = (options.workers, options.leaves, options.window, options.operations, options.base)
    return Scenario(*place, bounds, options.program, options.lanes, options.fault)


def command_of(scenario: Scenario, written: list[str]) -> str:
    """What repeats a run."""
    words = [f"--workers {scenario.workers}"]
    if scenario.leaves:
        words.append(f"--leaves {','.join(map(str, scenario.leaves))}")
    words.append(f"--window {scenario.window} --operations {','.join(map(str, scenario.operations))}")
    words += [f"--base {scenario.base}"] * bool(scenario.base)
    words += [f"--program {scenario.program}"] * (scenario.program != PROGRAM)
    words += [f"--lanes {scenario.lanes}"] * (scenario.lanes != 64)
    words += [f"--fault '{scenario.worker}'"] * bool(scenario.worker)
    return f"python -m tests.explore {' '.join(words)} --replay '{' '.join(written)}'"


def replay(scenario: Scenario, text: str) -> int:
    """Play a run on live machines and say what happens."""
    player = Player(scenario)
    try:
        for word in text.split():
            before = len(player.lines)
            player.play(player.read(word))
            print("\n".join(player.lines[before:]))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(player.problem or "No worker is wrong here.")
    return 1 if player.problem else 0


# --- Many at a time ---------------------------------------------------------------------------------------------------


def explore_one(
    name: str, scenario: Scenario, deadline: float, states: int, seen: DictProxy[str, int]
) -> dict[str, Any]:
    """In a process of its own."""

    def told(outcome: Outcome) -> None:
        seen[name] = outcome.states

    outcome = Exploration(scenario).run(deadline - time.monotonic(), states, told)
    result = asdict(outcome) | {"bounds": str(scenario), "states_per_s": outcome.states_per_s}
    del result["scenario"], result["events"]
    result["trace"], result["command"] = [], ""
    if outcome.problem:
        player = tell(scenario, outcome.events)
        result["trace"], result["command"] = player.lines, command_of(scenario, player.written)
    return result


def explore_all(chosen: dict[str, Scenario], options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Outcomes by name."""
    deadline, context = time.monotonic() + 60 * options.minutes, get_context("spawn")
    columns = TextColumn("{task.description:24}"), BarColumn(), TextColumn("{task.fields[told]}"), TimeElapsedColumn()
    console = Console(stderr=True)
    bound = f"{options.jobs} at a time, for {options.minutes:g} minutes at most; a line for each that ends"
    console.print(f"{len(chosen)} scenarios, {bound}", highlight=False)
    with (
        context.Manager() as manager,
        ProcessPoolExecutor(options.jobs, mp_context=context, max_tasks_per_child=1) as pool,
        Progress(*columns, console=console) as progress,
    ):
        seen = manager.dict()
        waiting: dict[str, Future[dict[str, Any]]] = {
            name: pool.submit(explore_one, name, scenario, deadline, options.states, seen)
            for name, scenario in chosen.items()
        }
        total = progress.add_task("scenarios", total=len(chosen), told="")
        bars = {name: progress.add_task(name, total=None, told="", visible=False) for name in chosen}
        outcomes: dict[str, dict[str, Any]] = {}
        while len(outcomes) < len(chosen):
            for name, future in waiting.items():
                if future.done() and name not in outcomes:
                    outcomes[name] = future.result()
                    progress.console.print(line_of(name, outcomes[name]), soft_wrap=True, highlight=False)
                    progress.update(bars[name], visible=False)
                    progress.update(total, completed=len(outcomes), told=f"{len(outcomes)} of {len(chosen)}")
                elif future.running() and name in seen:
                    progress.update(bars[name], visible=True, told=f"{seen[name]:,} states")
            time.sleep(LOOK_S)
    return {name: outcomes[name] for name in chosen}


HEADS = ("states", "transitions", "depth", "machine steps", "states/s", "s")


def line_of(name: str, each: dict[str, Any]) -> str:
    """An outcome on one line, below ``HEADS``."""
    found = "WRONG" if each["problem"] else "nothing wrong" if each["is_complete"] else "NOT FINISHED"
    numbers = [each[key] for key in ("states", "transitions", "depth", "machine_steps")]
    numbers += [round(each["states_per_s"]), round(each["seconds"])]
    return f"{name:31}" + "".join(f"{number:14,}" for number in numbers) + f"  {found}; {each['bounds']}"


def report(outcomes: dict[str, dict[str, Any]], file: str | None) -> None:
    """All lines, what is wrong, and the same as JSON."""
    out = sys.stderr if file == "-" else sys.stdout
    print(f"{'scenario':31}" + "".join(f"{head:>14}" for head in HEADS) + "  found; bounds", file=out)
    for name, each in outcomes.items():
        print(line_of(name, each), file=out)
    states, transitions = (sum(each[key] for each in outcomes.values()) for key in ("states", "transitions"))
    print(f"{'all':31}{states:14,}{transitions:14,}", file=out)
    for name, each in outcomes.items():
        if each["problem"]:
            lines = [f"\n{name}: {each['problem']}", *each["trace"], f"Again: {each['command']}"]
            print("\n".join(lines), file=out)
    if file == "-":
        print(json.dumps(outcomes, indent=1))
    elif file:
        Path(file).write_text(json.dumps(outcomes, indent=1) + "\n")
