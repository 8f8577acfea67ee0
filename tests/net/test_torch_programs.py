"""Random programs on live ranks, with impairments: a sample of what `make soak-programs` plays."""

from __future__ import annotations

from tests.labs.live_programs import run_live


def test_programs_do_what_the_model_says(tmp_path):
    problems = run_live(1, 20, "loss=0.02&duplicate=0.02&reorder=0.05&corrupt=0.001", tmp_path)
    assert not problems, "\n".join(problems)
