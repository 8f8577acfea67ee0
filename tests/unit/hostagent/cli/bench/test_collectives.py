"""Rows of both backends become one table and one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hostagent.cli.bench.collectives import _rows, measure, plot, size_text
from hostagent.cli.bench.runner import BenchError


def runs(gloo_s: float | None, *ours_s: float) -> dict[str, list[dict[str, Any]]]:
    key = "all_gather float32 1024"
    return {"gloo": [{key: gloo_s}], "netsum": [{key: seconds} for seconds in ours_s]}


def test_the_better_median_counts_and_gloo_is_the_baseline(tmp_path: Path) -> None:
    (row,) = rows = _rows(2, runs(30e-6, 20e-6, 10e-6))
    assert row.name == "2 ranks, all_gather, float32, 1 KiB"
    assert (round(row.value), round(row.baseline_value or 0), round(row.ratio or 0)) == (10, 30, 3)
    plot(rows, tmp_path / "ratios.png")
    assert (tmp_path / "ratios.png").stat().st_size > 1000


def test_what_gloo_does_not_do_has_no_baseline() -> None:
    (row,) = _rows(2, runs(None, 10e-6))
    assert (row.baseline_value, row.ratio, row.note) == (None, None, "gloo does not do it")


def test_an_unknown_operation_is_named_before_anything_runs() -> None:
    with pytest.raises(BenchError, match="no operation 'all_gathr': choose from all_reduce"):
        measure(operations=("all_gathr",))


def test_sizes_are_written_in_whole_units() -> None:
    assert [size_text(size) for size in (4, 1 << 10, 16 << 20)] == ["4 B", "1 KiB", "16 MiB"]
