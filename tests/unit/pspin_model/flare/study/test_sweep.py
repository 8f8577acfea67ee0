"""A sweep: the same rows from one process and from several, as CSV and as a picture."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from emulator.sweep import as_csv
from pspin_model.flare.config import Reduction
from pspin_model.flare.study.plots import plot_report, plot_sweep
from pspin_model.flare.study.plots_sparse import plot_sparse_sweep
from pspin_model.flare.study.simulate import simulate
from pspin_model.flare.study.sweep import grid, run_points, sparse_grid
from pspin_model.machine.config import ConfigError

BASE = Reduction(4096, children=4)


def without_time(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "wall_s"} for row in rows]


def test_a_sweep_gives_the_same_rows_from_one_process_and_from_several() -> None:
    points = grid([4096, 8192], ["single", "tree"], [16], [4], BASE)
    seen: list[int] = []
    here = run_points(points, workers=1, done=lambda number, _row: seen.append(number))
    assert seen == [0, 1, 2, 3]
    assert all(row["exact"] for row in here)
    there = run_points(points, workers=2)
    assert without_time(there) == without_time(here)


def test_busy_cores_and_service_time_explain_deviations_from_the_model() -> None:
    rows = run_points(grid([4096, 16384], ["single", "multi", "tree"], [16], [8], BASE), workers=1)
    apart = [row for row in rows if abs(row["bandwidth_gbps"] / row["model_gbps"] - 1) > 0.1]
    assert len(apart) > 2
    for row in apart:
        expected = row["core_use"] * row["model_service_cycles"] / row["service_cycles"]
        assert row["bandwidth_gbps"] / row["model_gbps"] == pytest.approx(expected, rel=0.05)
        assert row["why"]


def test_rows_become_csv_and_pictures(tmp_path: Path) -> None:
    points = grid([4096, 8192], ["single", "tree"], [16], [4], BASE)
    rows = run_points(points, workers=1)
    back = list(csv.DictReader(io.StringIO(as_csv(rows))))
    assert [row["algorithm"] for row in back] == ["single", "tree", "single", "tree"]
    plot_sweep(rows, tmp_path / "sweep.png")
    plot_report(simulate(points[0].config()), tmp_path / "run.png")
    assert all((tmp_path / name).stat().st_size > 10_000 for name in ("sweep.png", "run.png"))


def test_a_sparse_sweep_reports_spills_and_extra_bytes_by_density(tmp_path: Path) -> None:
    rows = run_points(sparse_grid([8192], ["array", "hash"], [0.01, 0.5], [16], [4], BASE), workers=1)
    assert [(row["storage"], row["density"]) for row in rows] == [
        (storage, density) for storage in ("array", "hash") for density in (0.01, 0.5)
    ]
    assert all(row["exact"] for row in rows)
    assert [row["spilled"] > 0 for row in rows] == [False, False, True, True]
    assert "extra_bytes" in as_csv(rows).splitlines()[0].split(",")
    points = sparse_grid([8192], ["hash"], [0.01], [16], [4], BASE, "flare", ["single", "multi"])
    rows += run_points(points, workers=1)
    assert [row["buffers"] for row in rows] == [1, 1, 1, 1, 1, 4]
    plot_sparse_sweep(rows, tmp_path / "sparse.png")
    assert (tmp_path / "sparse.png").stat().st_size > 10_000


def test_cores_must_make_whole_clusters() -> None:
    with pytest.raises(ConfigError, match="multiple of 8"):
        grid([4096], ["single"], [12], [4], BASE)
