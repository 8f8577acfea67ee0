"""Sparse allreduce through trees of switches equals a dense scatter-add, whatever the network does to fragments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pspin_model.flare.elements import operator
from pspin_model.flare.sparse.reference import SparseShape
from pspin_model.flare.sparse.reference_tree import Network, SparseReport, SparseTree
from pspin_model.flare.sparse.wire import block_span

LENGTH = 3000


def allreduce(
    density: float, dtype: str, storage: str, fan_in: tuple[int, ...], network: Network, which: str = "sum"
) -> tuple[SparseReport, np.ndarray]:
    """The report and the dense sum."""
    kind, random = np.dtype(dtype), np.random.default_rng(network.seed)
    shape = SparseShape(block_span(kind, density), fan_in[0], kind, slots=4, storage=storage)
    tree = SparseTree(shape, operator(which), fan_in)
    vectors: list[tuple[Any, Any]]
    vectors, dense = [], np.zeros(LENGTH, kind)
    for _ in range(tree.hosts):
        indices = np.flatnonzero(random.random(LENGTH) < density)
        values = random.integers(-3, 4, len(indices)).astype(kind)
        np.add.at(dense, indices, values)
        vectors.append((indices, values))
    return tree.reduce(vectors, LENGTH, network), dense


@pytest.mark.parametrize("density", [0.001, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("storage", ["array", "hash"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float16", "float32"])
def test_sparse_equals_dense_scatter_add(density: float, storage: str, dtype: str) -> None:
    report, dense = allreduce(density, dtype, storage, (4,), Network(seed=5))
    assert all((row == dense).all() for row in report.rows)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("storage", ["array", "hash"])
def test_lost_repeated_and_reordered_fragments_change_nothing(seed: int, storage: str) -> None:
    report, dense = allreduce(0.05, "int32", storage, (3, 2), Network(seed=seed, loss=0.15, duplicate=0.15))
    assert all((row == dense).all() for row in report.rows)
    assert report.rounds > 0


def test_results_fill_up_towards_the_root_and_a_hash_pays_with_extra_bytes() -> None:
    array, _ = allreduce(0.1, "int32", "array", (4, 2), Network(seed=1))
    up = [level.totals.indices_up / level.nodes for level in array.levels]
    assert up[0] < up[1] <= LENGTH
    assert [level.totals.spilled for level in array.levels] == [0, 0]
    hashed, _ = allreduce(0.1, "int32", "hash", (4, 2), Network(seed=1))
    assert [level.totals.indices_up / level.nodes for level in hashed.levels] == up
    assert all(level.totals.spilled > 0 and level.totals.extra_bytes > 0 for level in hashed.levels)


def test_traffic_of_hosts_is_one_and_a_half_times_their_values_and_headers() -> None:
    report, _ = allreduce(0.1, "int32", "array", (4,), Network(seed=2))
    pairs = report.levels[0].pairs_in
    blocks = -(-LENGTH // block_span(np.dtype(np.int32), 0.1)) * 4
    assert pairs * 6 + blocks * 40 <= report.host_bytes_up <= pairs * 6 + 3 * blocks * 40
