"""The bytes that live switches count at their ports are those of the backend's README, operation by operation."""

from __future__ import annotations

import re

import pytest

from hostagent.launch.aggregators import running_aggregator
from tests.labs.torch_jobs import run

RANKS, LANES = 4, 64
OPERATIONS = {"all_reduce", "reduce", "reduce_scatter", "broadcast", "all_gather", "barrier"}
OPERATIONS |= {"send", "gather", "scatter", "all_to_all"}
LINE = re.compile(r"(\d) (\w+) (\d+ \w+) \((\d+), (\d+)\) \((\d+), (\d+)\)")


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """What the ranks measured: (rank, operation, tensor, measured, formula)."""
    with running_aggregator(RANKS, lanes=LANES, folder=tmp_path_factory.mktemp("aggregator")) as aggregator:
        outputs = run(RANKS, aggregator.address, "volumes.py", aggregator.control, str(LANES))
    found = [match.groups() for output in outputs for match in LINE.finditer(output)]
    return [(int(rank), name, of, (int(a), int(b)), (int(c), int(d))) for rank, name, of, a, b, c, d in found]


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_ports_count_what_the_formulas_say(lines, operation):
    rows = [row for row in lines if row[1] == operation]
    assert {row[0] for row in rows} == set(range(RANKS))
    assert {row[2] for row in rows} == {"900 int32", "5000 float32"}
    assert [row[3] for row in rows] == [row[4] for row in rows], rows
