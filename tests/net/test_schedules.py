"""Built-in schedules on live ranks around a live switch: sums, and the bytes at its ports; and with frames lost."""

import pytest

from hostagent.launch.aggregators import running_aggregator
from tests.labs.torch_jobs import run_forked

RANKS, LANES = 4, 64


@pytest.mark.parametrize(("impairments", "attempts"), [("", 20), ("loss=0.02&seed=5", 1)])
def test_every_schedule(impairments, attempts, tmp_path):
    with running_aggregator(RANKS, lanes=LANES, impairments=impairments, folder=tmp_path) as aggregator:
        output = run_forked(RANKS, aggregator.address, "schedules.py", str(LANES), str(attempts))
    lines = [line for line in output.splitlines() if "is_wrong=False" in line]
    assert len(lines) == 7, output
    if not impairments:  # equal where none was repeated, which the ranks check
        assert all("repeated=0)" in line for line in lines), output


def test_a_probed_order_of_ranks_is_the_same_everywhere_and_changes_no_sum(tmp_path):
    with running_aggregator(RANKS, lanes=LANES, folder=tmp_path) as aggregator:
        output = run_forked(RANKS, aggregator.address, "reordered.py")
    assert output.count("equal=True") == RANKS, output
