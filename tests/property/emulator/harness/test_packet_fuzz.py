"""Packets that nobody meant, through every program of the packet tests: a short soak.

`make soak` is the long one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from emulator.harness.fuzz.packets import PacketSource
from emulator.harness.fuzz.soak import Amounts, Worker, programs_in, try_program
from emulator.harness.fuzz.trial import Trial
from tests.labs.extent import tries

FOLDER = Path(__file__).resolve().parents[3] / "conformance" / "stf"
AREAS = sorted(p.name for p in FOLDER.iterdir() if p.is_dir() and p.name not in ("include", "__pycache__"))
FEW = Amounts(compared=tries(16, 32), endured=tries(1024, 4096), continued=16)


@pytest.mark.parametrize("area", AREAS)
def test_engines_agree_on_any_packets_and_state_stays_whole(area: str) -> None:
    programs = programs_in([str(FOLDER / area)])[:: tries(3, 1)]
    assert programs
    troubles = [t for program in programs for t in try_program(program, FEW).troubles]
    assert not troubles, "\n".join(f"{t.program}: {t.message}" for t in troubles)


def test_packets_are_of_every_kind_and_come_again_by_their_number() -> None:
    seeds = [(3, b"\x11" * 20), (4, b"\x22" * 6)]
    one, two, other = (PacketSource(seeds, number, 512) for number in (7, 7, 8))
    first, again = list(one.refill().frames()), list(two.refill().frames())
    assert first == again
    assert list(one.refill().frames()) != first
    assert list(other.refill().frames()) != first
    assert {f for _, f in first} >= {b"\x11" * 20, b"\x22" * 6}
    lengths = {len(f) for _, f in first}
    assert min(lengths) < 6
    assert max(lengths) > 60
    assert {3, 4} < {port for port, _ in first}


def test_a_frame_that_somebody_wrote_into_is_noticed() -> None:
    source = PacketSource([(0, bytes(20))], 1, 4)
    source.refill()
    assert source.untouched()
    source._memory[2, 5] ^= np.uint8(1)
    assert not source.untouched()


def test_a_difference_between_engines_names_the_packet(monkeypatch: pytest.MonkeyPatch) -> None:
    program = FOLDER / "expressions" / "bitwise.p4"
    trial = Trial(str(program), str(program.with_suffix(".stf")))
    other = Trial(str(FOLDER / "expressions" / "concatenation.p4"), None)
    monkeypatch.setitem(trial._runner.compiled, "interpreter", other._runner.compiled["interpreter"])
    (trouble,) = trial.compare(64)
    assert "the packet is: packet " in trouble.message


def test_a_program_that_kills_its_process_is_one_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.harness.fuzz.soak.try_program", lambda *_: __import__("os")._exit(9))
    worker = Worker(FEW)
    (trouble,) = worker.try_program(Path("some.p4")).troubles
    assert trouble.message == "the process died, exit code 9"
    assert worker.close() is None


def test_long_runs_report_figures_and_leave_the_rings_unchanged() -> None:
    program = FOLDER / "p4src" / "router.p4"
    trial = Trial(str(program), str(program.with_suffix(".stf")))
    cells = trial._rings["llvm"].table.rings["cells"].copy()
    assert trial.endure(2048, 0) == []
    figures = trial.endured
    assert figures.packets == 2048
    assert figures.sent > 0
    assert figures.seconds > 0
    assert (trial._rings["llvm"].table.rings["cells"] == cells).all()


def test_programs_without_a_test_can_be_tried_too() -> None:
    assert Trial(str(FOLDER / "expressions" / "bitwise.p4"), None).compare(16) == []
