"""Jobs have boards of their own that work, in rows with the same columns; heuristics fill more boards."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from statistics import fmean

import pytest

from emulator.network.topology.hxmesh.allocation import (
    Allocation,
    Heuristics,
    Job,
    random_failures,
    random_jobs,
    read_jobs,
)
from emulator.network.topology.parts import TopologyError

NONE = Heuristics(transpose=False, aspect=False, sort=False, locality=False)
GRID = (16, 16)


def filled(heuristics: Heuristics, failures: int, seed: int) -> Allocation:
    allocation = Allocation(GRID, heuristics, random_failures(GRID, failures, seed))
    allocation.place(random_jobs(GRID, seed))
    return allocation


@pytest.mark.parametrize("failures", [0, 16, 250])
@pytest.mark.parametrize("heuristics", [NONE, Heuristics()])
def test_no_board_has_two_jobs_or_has_failed(failures: int, heuristics: Heuristics) -> None:
    for seed in range(5):
        allocation = filled(heuristics, failures, seed)
        used = set(allocation.failed)
        for placement in allocation.placements.values():
            boards = set(product(placement.rows, placement.columns))
            assert len(boards) == placement.job.boards
            assert not boards & used
            used |= boards
        assert used <= set(product(range(16), range(16)))


def test_utilization_grows_with_heuristics() -> None:
    ladder = [
        NONE,
        Heuristics(aspect=False, sort=False, locality=False),
        Heuristics(sort=False, locality=False),
        Heuristics(locality=False),
    ]
    for failures, expected in ((0, [0.8324, 0.8434, 0.8535, 0.9934]), (16, [0.8196, 0.8254, 0.8317, 0.9623])):
        found = [fmean(filled(each, failures, seed).utilization for seed in range(20)) for each in ladder]
        assert found == pytest.approx(expected, abs=1e-3)


def test_rows_and_columns_need_not_be_adjacent() -> None:
    allocation = Allocation((3, 4), NONE, frozenset({(0, 1), (1, 0), (1, 2), (2, 1)}))
    assert not allocation.place([Job("a", 2, 3)])
    placement = allocation.placements["a"]
    assert (placement.rows, placement.columns) == ((0, 2), (0, 2, 3))
    assert allocation.place([Job("b", 2, 1)]) == [Job("b", 2, 1)]
    allocation.remove("a")
    assert not allocation.place([Job("b", 2, 1)])


def test_each_heuristic_finds_what_the_one_before_does_not() -> None:
    flat, long = Job("a", 4, 1), Job("a", 2, 3)
    assert Allocation((1, 4), NONE).place([flat]) == [flat]
    assert not Allocation((1, 4), Heuristics(aspect=False)).place([flat])
    assert Allocation((1, 6), Heuristics(aspect=False)).place([long]) == [long]
    assert not Allocation((1, 6), Heuristics()).place([long])
    small, large = Job("small", 1, 1), Job("large", 2, 2)
    assert Allocation((2, 2), Heuristics(sort=False)).place([small, large]) == [large]
    assert Allocation((2, 2)).place([small, large]) == [small]
    apart = frozenset({(0, 0), (0, 1)})
    for heuristics, columns in ((NONE, (2, 3)), (Heuristics(), (4, 5))):
        allocation = Allocation((1, 6), heuristics, frozenset({*apart, (0, 2)} if heuristics != NONE else apart), 2)
        allocation.place([Job("a", 1, 2)])
        assert allocation.placements["a"].columns == columns


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match="failed: there is no board 2, 0 in a grid of 2x2"):
        Allocation((2, 2), NONE, frozenset({(2, 0)}))
    with pytest.raises(TopologyError, match="fail: 5 failed boards; a grid of 2x2 has 4"):
        random_failures((2, 2), 5, 1)
    with pytest.raises(TopologyError, match=r"jobs.a.name: there are two jobs 'a'"):
        Allocation((2, 2)).place([Job("a", 1, 1), Job("a", 1, 1)])
    with pytest.raises(TopologyError, match="no job 'b' has boards"):
        Allocation((2, 2)).remove("b")
    path = tmp_path / "jobs.csv"
    for text, fault in (
        ("name,rows,columns\na,1,x\n", ":2: columns: 'x' is not a positive number"),
        ("name,rows,columns\na,1,2\na,1,0\n", ":3: columns: '0' is not a positive number"),
        ("name,rows\na,1\n", ":2: columns: missing"),
        ("name,rows,columns\n", ": no jobs: the first line is name,rows,columns"),
        ("name,rows,columns,color\na,1,2,red\n", ":2: color: unknown"),
        ("name,rows,columns\na,1,2\na,1,1\n", ":3: name: there are two jobs 'a'"),
    ):
        path.write_text(text)
        with pytest.raises(TopologyError) as caught:
            read_jobs(path)
        assert fault in str(caught.value)
    path.write_text("name,rows,columns\na,1,2\n")
    assert read_jobs(path) == [Job("a", 1, 2)]
