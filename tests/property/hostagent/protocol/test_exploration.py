"""Exhaustive exploration of small jobs (`tests.explore`), and whether it finds faults that are put in on purpose.

The explorations here take seconds; ``make explore`` has larger ones.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.explore.command import main
from tests.explore.exploration import Exploration
from tests.explore.scenario import Bounds, Scenario
from tests.explore.trace import Player, tell
from tests.labs.extent import tries

ROOT = Path(__file__).resolve().parents[4]

SMALL = {
    "star": Scenario(2, bounds=Bounds(losses=1, duplicates=tries(0, 1))),
    "star with duplicates": Scenario(2, window=1, bounds=Bounds(losses=1, duplicates=1)),
    "star with a restart": Scenario(2, window=1, bounds=Bounds(losses=1, restarts=1)),
    "three workers": Scenario(3, window=1, bounds=Bounds(losses=1)),
    "numbers that wrap": Scenario(2, window=1, base=2**32 - 1, bounds=Bounds(duplicates=1, early=1)),
    "tree": Scenario(2, (1, 1), bounds=Bounds(losses=1)),
    "tree with restarts of any of its switches": Scenario(
        2, (1, 1), window=1, operations=(1, 1), bounds=Bounds(restarts=1)
    ),
}


@pytest.mark.parametrize("scenario", SMALL.values(), ids=SMALL)
def test_nothing_that_can_happen_is_wrong(scenario: Scenario) -> None:
    outcome = Exploration(scenario).run()
    assert not outcome.problem, "\n".join(tell(scenario, outcome.events).lines)
    assert outcome.is_complete
    assert outcome.ends > 0


def test_symmetry_leaves_out_images_only() -> None:
    scenario = Scenario(3, window=1, bounds=Bounds(losses=1))
    with_it, without = Exploration(scenario).run(), Exploration(scenario, symmetric=False).run()
    assert without.states / 6 <= with_it.states <= without.states / 6 * 1.1
    assert (with_it.depth, with_it.passes > 0) == (without.depth, without.passes > 0)


# What is broken, and the explorations that must show it: (place in the program, what stands there instead).
IGNORES_THE_BITMAP = ("(came & meta.bit_mask) != 0", "false")
ANSWERS_BEFORE_THE_SUM_IS_COMPLETE = ("if (status != SET_FILLING) {\n                read_lanes();", "if (true) {")
FORGETS_LOST_RESULTS = ("answer_sender(kind_t.RESULT);", "mark_to_drop(standard_metadata);")
LEAF_FORGETS_LOST_SUMS = ("send_up();\n                    count_verdict(verdict_t.PARTIAL_AGAIN)", "drop_it()")
LEAF_TAKES_OLD_RESULTS = ("epoch != meta.epoch || chunk != hdr.netsum.chunk || status", "epoch != meta.epoch || status")
KEEPS_OLD_EPOCHS = ("if (epoch != meta.epoch) {\n            first", "if (epoch == 0) {\n            first")

BROKEN = {
    "a duplicate is added": (IGNORES_THE_BITMAP, Scenario(2, bounds=Bounds(duplicates=1)), "wrong result", 5),
    "a repeat early is added": (IGNORES_THE_BITMAP, Scenario(2, bounds=Bounds(early=1)), "wrong result", 6),
    "a lost result is not repeated": (FORGETS_LOST_RESULTS, Scenario(2, bounds=Bounds(losses=1)), "hang", 16),
    "a leaf does not recover": (LEAF_FORGETS_LOST_SUMS, Scenario(2, (1, 1), bounds=Bounds(losses=1)), "hang", 16),
    "a leaf takes an old result": (
        LEAF_TAKES_OLD_RESULTS,
        Scenario(2, (1, 1), window=1, bounds=Bounds(duplicates=1)),
        "wrong result",
        29,
    ),
    "sets of an old epoch count": (
        KEEPS_OLD_EPOCHS,
        Scenario(2, (1, 1), window=1, operations=(2,), bounds=Bounds(restarts=1)),
        "hang",
        16,
    ),
}


FEW_LANES = "#if LANES == 4\n#define EACH_LANE(M) M(_000) M(_001) M(_002) M(_003)\n#elif LANES == 64"


def mutated(folder: Path, old: str, new: str) -> str:
    """A copy of the program with something else in a place, and for 4 lanes, which take a moment to compile."""
    shutil.copytree(ROOT / "p4src", folder, dirs_exist_ok=True)
    lanes = folder / "allreduce" / "lanes.p4"
    lanes.write_text(lanes.read_text().replace("#if LANES == 64", FEW_LANES))
    file = folder / "allreduce" / "ingress.p4"
    text = file.read_text()
    assert text.count(old) == 1
    new = new.replace("drop_it()", "mark_to_drop(standard_metadata); count_verdict(verdict_t.PARTIAL_AGAIN)")
    file.write_text(text.replace(old, new))
    return str(folder / "allreduce.p4")


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_program_is_found(name: str, tmp_path: Path) -> None:
    """By a run of few events, which shows the same when it is played again from its written form."""
    (old, new), scenario, problem, most_events = BROKEN[name]
    broken = replace(scenario, program=mutated(tmp_path, old, new), lanes=4)
    outcome = Exploration(broken).run()
    assert problem in outcome.problem
    assert len(outcome.events) <= most_events
    told = tell(broken, outcome.events)
    again = Player(broken)
    for word in told.written:
        again.play(again.read(word))
    assert again.states() == told.states()
    if problem == "wrong result":
        assert again.problem == outcome.problem


def test_a_worker_that_advances_too_early_is_found() -> None:
    """It takes the set of a chunk whose result another worker still needs."""
    scenario = Scenario(2, window=1, bounds=Bounds(losses=1), worker="advances early")
    outcome = Exploration(scenario).run(most_states=100_000)
    assert "hang" in outcome.problem
    assert len(outcome.events) <= 16


def test_live_machines_do_what_the_search_has_combined() -> None:
    """Runs at random, with faults, played on machines that are never saved and restored."""
    for scenario in (SMALL["star with a restart"], SMALL["tree with restarts of any of its switches"]):
        exploration = Exploration(scenario)
        outcome, rng = exploration.run(), random.Random(5)
        for entry in rng.sample(range(outcome.expanded), 20):
            events, states = exploration.events_to(entry), exploration.machine_states_after(entry)
            assert tell(scenario, events).states() == states


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--list"]) == 0
    assert "tree-2-restart" in capsys.readouterr().out
    assert main(["--workers", "2", "--replay", "begin deliver:0 deliver:1 alarm:0"]) == 0
    assert "worker 0: its next timer runs out, EARLY" in capsys.readouterr().out
    assert main(["--workers", "2", "--replay", "begin deliver:9"]) == 2
    assert "4 frames are in flight" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["no-such-scenario"])
    assert "--list names them" in capsys.readouterr().err
