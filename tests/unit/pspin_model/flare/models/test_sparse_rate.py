"""The model of sparse blocks: its formulas where they can be counted, and beside the simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pspin_model.flare.config import Reduction
from pspin_model.flare.element_cost import element_price
from pspin_model.flare.models.deviations import NEIGHBOURS, TWO_BOUNDS
from pspin_model.flare.models.sparse_fill import distinct_indices, filling, fragments, stored_indices, stored_second
from pspin_model.flare.models.sparse_rate import SparseSetting, finish_cycles, predict_sparse
from pspin_model.flare.sparse.reference import SparseShape
from pspin_model.flare.study.sweep import run_points, sparse_grid
from pspin_model.machine.costs import FLARE_COSTS

SHAPE = SparseShape(span=14_800, children=16, dtype=np.dtype(np.float32), storage="hash")
PRICE = element_price(Reduction(1024), FLARE_COSTS)
SETTING = SparseSetting(SHAPE, 148_000, 0.01, cores=64, costs=FLARE_COSTS, unit_bytes=4096, price=PRICE)


def test_children_fill_the_result_as_independent_choices_do() -> None:
    assert distinct_indices(1000, 0.5, 2) == pytest.approx(750)
    assert distinct_indices(1000, 1.0, 3) == 1000
    assert distinct_indices(1000, 1e-9, 64) == pytest.approx(64e-6)


@pytest.mark.parametrize("probe", [True, False])
def test_a_hash_table_fills_as_random_entries_do(probe: bool) -> None:
    random, entries, keys, trials = np.random.default_rng(1), 64, 96, 200
    stored = second = 0
    for _ in range(trials):
        taken = np.zeros(entries + 1, np.bool_)
        for at in random.integers(0, entries, keys):
            for place in (at, (at + 1) % entries)[: 1 + probe]:
                if not taken[place]:
                    taken[place] = True
                    stored += 1
                    second += place != at
                    break
    assert stored_indices(keys, entries, probe=probe) == pytest.approx(stored / trials, rel=0.03)
    assert stored_second(keys, entries, probe=probe) == pytest.approx(second / trials, rel=0.1)


@pytest.mark.parametrize(("span", "density"), [(200, 1.0), (14_800, 0.01), (14_800, 0.0113), (65_536, 0.001)])
def test_fragments_of_a_block_are_counted_as_drawn(span: int, density: float) -> None:
    drawn = np.random.default_rng(2).binomial(span, density, 20_000)
    expected = np.maximum(1, -(-drawn // 164)).mean()
    assert fragments(span, density, 164) == pytest.approx(expected, rel=0.02)


def test_no_pair_is_lost_in_the_formulas() -> None:
    of = filling(SHAPE, 0.01, SHAPE.span)
    assert of.inserted + of.merged + of.spilled == pytest.approx(of.pairs)
    assert of.extra_bytes > 0
    array = filling(replace(SHAPE, storage="array"), 0.01, SHAPE.span)
    assert array.spilled == 0
    assert array.extra_bytes == pytest.approx(0)


def test_what_bounds_a_setting_is_said() -> None:
    assert predict_sparse(SETTING).bound == "locks"
    assert predict_sparse(replace(SETTING, cores_per_block=1)).bound == "cores"
    assert predict_sparse(replace(SETTING, line_rate_gbps=1.0)).bound == "links"
    of = filling(SHAPE, 0.01, SHAPE.span)
    assert finish_cycles(replace(SETTING, buffers=2), of) > finish_cycles(SETTING, of)


@pytest.mark.parametrize("buffers", [1, 2])
def test_the_simulation_is_within_a_tenth_of_the_model_or_told_why(buffers: int) -> None:
    base = Reduction(64 << 10, children=16, buffers=buffers)
    algorithm = "multi" if buffers > 1 else "single"
    points = sparse_grid([64 << 10], ["array", "hash"], [0.02, 0.2, 0.5], [64], [16], base, "flare", [algorithm])
    rows: list[dict[str, Any]] = run_points(points, workers=1)
    close = 0
    for row in rows:
        near = row["dense_gbps"] == pytest.approx(row["model_dense_gbps"], rel=0.1)
        spills = row["spilled"] == pytest.approx(row["model_spilled"], rel=0.1, abs=1)
        assert (near and spills) == (not row["why"])
        assert row["result_density"] == pytest.approx(row["model_result_density"], rel=0.02)
        close += near
    assert close >= 4
    assert rows[-1]["why"] in (NEIGHBOURS, TWO_BOUNDS)
