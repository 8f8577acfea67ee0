"""Sweeps: rows in order from one process, several, and a Dask cluster; a file that an ended sweep goes on with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator.sweep import SweepError, run_all

PATIENCE_S = 60


def square(point: int) -> dict[str, Any]:
    if point < 0:
        raise ArithmeticError(f"{point} is below 0")
    return {"square": point**2, "half": point / 2, "even": point % 2 == 0, "note": "" if point else None}


def key(point: Any) -> dict[str, Any]:
    return {"point": point, "seed": 7}


def test_rows_come_back_in_order_from_one_process_and_from_several() -> None:
    points = list(range(6))
    seen: list[int] = []
    here = run_all(square, points, key=key, workers=1, done=lambda number, _row: seen.append(number))
    assert [row["square"] for row in here] == [0, 1, 4, 9, 16, 25]
    assert list(here[1]) == ["point", "seed", "square", "half", "even", "note"]
    assert seen == points
    assert run_all(square, points, key=key, workers=2) == here
    assert run_all(square, [], key=key) == []


def test_a_sweep_goes_on_with_the_rows_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    with pytest.raises(ArithmeticError, match="-1 is below 0"):
        run_all(square, [3, 0, -1, 5], key=key, workers=1, file=file)
    assert file.read_text() == "point,seed,square,half,even,note\n3,7,9,1.5,False,\n0,7,0,0.0,True,\n"
    file.write_text(file.read_text() + "5,7,2")  # killed while it wrote
    made: list[int] = []

    def noting(point: int) -> dict[str, Any]:
        made.append(point)
        return square(point)

    rows = run_all(noting, [0, 5, 3], key=key, workers=1, file=file)
    assert made == [5]
    assert [(row["point"], row["square"], row["half"], row["even"]) for row in rows] == [
        (0, 0, 0.0, True),
        (5, 25, 2.5, False),
        (3, 9, 1.5, False),
    ]
    assert file.read_text().splitlines()[3:] == ["5,7,25,2.5,False,"]


def test_a_row_may_have_columns_that_the_file_lacks(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"

    def run(point: int) -> dict[str, Any]:
        return {"extra": 1} if point else {}

    run_all(run, [0, 1], key=key, workers=1, file=file)
    assert file.read_text() == "point,seed,extra\n0,7,\n1,7,1\n"


def test_a_file_of_another_sweep_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("point,other\n1,2\n")
    with pytest.raises(SweepError, match=r"rows\.csv is of another sweep: no column 'seed'"):
        run_all(square, [1], key=key, file=file)
    assert file.read_text() == "point,other\n1,2\n"


def test_a_file_that_cannot_be_written_is_refused_before_the_first_run(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match=r"nowhere/rows\.csv: No such file or directory"):
        run_all(lambda point: pytest.fail("a run"), [1], key=key, file=tmp_path / "nowhere" / "rows.csv", workers=1)
    (tmp_path / "rows.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(SweepError, match="not UTF-8 text"):
        run_all(square, [1], key=key, file=tmp_path / "rows.csv")


def test_without_a_scheduler_it_says_so() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(
        SweepError, match=r"no Dask scheduler answers at 127\.0\.0\.1:1; start one with `dask scheduler`"
    ):
        run_all(square, [1], key=key, dask="127.0.0.1:1")


@pytest.fixture
def scheduler(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A Dask scheduler with a worker, or as many as the test says, in a process."""
    pytest.importorskip("distributed")
    code = (
        "import sys; from distributed import LocalCluster\n"
        "network = {'host': '127.0.0.1', 'protocol': 'tcp', 'dashboard_address': None}\n"
        "with LocalCluster(n_workers=int(sys.argv[1]), processes=False, **network) as cluster:\n"
        "    print(cluster.scheduler_address, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(getattr(request, "param", 1))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout
        assert process.stdin
        yield process.stdout.readline().strip()
        process.stdin.close()
        process.wait(PATIENCE_S)


def test_a_dask_cluster_makes_the_runs(scheduler: str, tmp_path: Path) -> None:
    # a function that the cluster's process can import, as it can netsum's
    rows = run_all(json.loads, ['{"value": 8}', '{"value": 27}'], key=key, dask=scheduler, file=tmp_path / "rows.csv")
    assert [row["value"] for row in rows] == [8, 27]
    with pytest.raises(json.JSONDecodeError):
        run_all(json.loads, ["{"], key=key, dask=scheduler)


@pytest.mark.parametrize("scheduler", [0], indirect=True)
def test_a_scheduler_without_workers_is_not_waited_for(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulator.sweep.SCHEDULER_TIMEOUT", "1s")
    with pytest.raises(SweepError, match=r"the Dask scheduler at .* has no worker; start some with `dask worker"):
        run_all(json.loads, ["{}"], key=key, dask=scheduler)
