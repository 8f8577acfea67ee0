"""Watching a packet changes nothing: every STF test comes out the same with the walks told; and walks make sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.harness.coverage.items import ProgramCoverage, Sort
from emulator.harness.coverage.universe import everything
from emulator.harness.egress_rings import Rings
from emulator.harness.stf import run as stf_run
from emulator.harness.stf.runner import Runner
from emulator.harness.virtual import Source
from emulator.harness.walk.events import Kind, Walk
from emulator.harness.walk.text import walk_data, walk_lines
from emulator.harness.walk.traced_switch import TracedSwitch

FOLDER = Path(__file__).parent / "stf"
TESTS = sorted(FOLDER.glob("*/*.stf"))


@pytest.fixture(scope="module")
def rings() -> Rings:
    return Rings()


@pytest.mark.parametrize("test", TESTS, ids=[f"{t.parent.name}/{t.stem}" for t in TESTS])
def test_watching_changes_nothing(test: Path, rings: Rings, monkeypatch: pytest.MonkeyPatch) -> None:
    program = test.with_suffix(".p4")
    if not program.exists():
        pytest.skip("it belongs to a program of p4src")
    runner = Runner(str(program), engine="interpreter", rings=rings)
    (plain,) = runner.run_file(str(test))
    walks: list[Walk] = []
    monkeypatch.setattr(stf_run, "Switch", lambda ports: TracedSwitch(ports=ports, report=walks.append))
    (watched,) = runner.run_file(str(test))
    assert watched.record == plain.record
    for walk in walks:
        assert walk.events[0].kind is Kind.ENTER
        assert list(walk_lines(walk))
        assert walk_data(walk)["events"]
    _known(everything(Source(str(program)), runner.compiled["interpreter"]), walks)


def _known(program: ProgramCoverage, walks: list[Walk]) -> None:
    """What happens stands in the list of all that can."""
    known = {i.label for i in program.of(Sort.TRANSITION)}
    for walk in walks:
        state = ""
        for event in walk.events:
            if event.kind is Kind.STATE:
                state = event.text
            elif event.kind is Kind.TRANSITION:
                assert event.key in known or f"{state}: {event.key}" in known
