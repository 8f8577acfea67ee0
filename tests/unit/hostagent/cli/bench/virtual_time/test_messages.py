"""Times equal SimGrid's, where there is one, message by message."""

import pytest

from emulator.network.schedule.generators import ring
from emulator.network.topology.builders import star, tree
from hostagent.cli.bench.virtual_time.messages import PYTHONS, _has_simgrid, _rows, alltoall

PYTHON = next((each for each in PYTHONS if _has_simgrid(each)), None)


@pytest.mark.parametrize("schedule", [ring(tree((2, 3)), 48_000), alltoall(star(5))], ids=lambda each: each.name)
def test_messages_end_when_simgrids_do(schedule):
    if PYTHON is None:
        pytest.skip("no SimGrid: apt install python3-simgrid")
    fair, exclusive = _rows(schedule, PYTHON)  # raises BenchError where the whole is off by more
    assert fair.details["largest_difference"] < 0.002
    assert (fair.baseline, exclusive.baseline) == ("SimGrid", "fair")


def test_rows_without_simgrid():
    fair, exclusive = _rows(alltoall(star(3)), None)
    assert (fair.baseline, exclusive.baseline_value) == ("", fair.value)
