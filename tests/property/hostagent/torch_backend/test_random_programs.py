"""Process groups in virtual time, with faults, on random programs: a sample of what `make soak-programs` plays."""

from __future__ import annotations

import pytest

from tests.generators.collective_programs import draw
from tests.labs import virtual_job
from tests.labs.extent import tries
from tests.labs.virtual_job import Faults, draw_faults
from tests.soaks.program_soak import explain, run, shrink

BATCHES, BATCH = 5, tries(6, 20)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_programs(batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        if run(draw(seed), draw_faults(seed)):
            pytest.fail(explain(seed))


def test_a_wrong_aggregator_is_found_and_the_program_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test of the test: an aggregator that drops the last lane of each frame."""
    original = virtual_job.Reference._accumulate

    def forgetful(self, held, frame):
        original(self, held, frame)
        held.sums[-1] = 0

    monkeypatch.setattr(virtual_job.Reference, "_accumulate", forgetful)
    seed = next(seed for seed in range(100) if run(draw(seed), Faults(seed)))
    program, faults = shrink(draw(seed), Faults(seed, loss=0.1))
    assert run(program, faults)
    assert len(program.steps) == 1
    assert faults == Faults(seed)


def test_a_program_that_cannot_end_is_found() -> None:
    """An aggregator that nothing reaches."""
    [problem] = run(draw(1), Faults(1, loss=1.0))
    assert "hang at" in problem
