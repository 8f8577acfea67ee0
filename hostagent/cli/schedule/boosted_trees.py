"""A rank of scikit-learn's gradient boosted trees: each has some rows of its diabetes data, and histograms are summed.

    netsum run -n 4 -m hostagent.cli.schedule.boosted_trees [switch|ring|hd|tree|bcube]

Bins, histograms and splits are those of scikit-learn's HistGradientBoostingRegressor, by its internal modules; the
method is that of LightGBM (Ke et al., NIPS 2017). Ours is the loop around them: in scikit-learn's the rows of a process
decide which child's histogram is calculated, so ranks would decide differently; here trees grow level by level, and the
histograms of each level are one sum, from which all ranks find the same splits. The sums are made in the switch, or by
a schedule of messages, whose order of ranks NETSUM_REORDER=probe chooses.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.histogram import HistogramBuilder
from sklearn.ensemble._hist_gradient_boosting.splitting import Splitter

from emulator.network.topology.builders import star
from hostagent.collectives.execute.executor import Executor
from hostagent.planner.placement.model import ALGORITHMS

TREES, DEPTH, BINS, RATE, LEAST_ROWS = 60, 3, 32, 0.1, 10
FIXED_POINT = 1 << 12
"""Of int32, whose sums no order of additions changes; those of the residuals here are below 2 ** 17."""
SUMMED = ("sum_gradients", "count")
"""Of scikit-learn's histograms."""
LEAST_ELEMENTS = 16
"""Of a sum, one for each chunk of a schedule: two trees of eight pieces, or one chunk for each rank."""
Floats = NDArray[np.float64]
Bins = NDArray[np.uint8]
"""[rows, features]."""
Sum = Callable[[Floats], Floats]
"""Of all ranks' arrays, at each of them."""


def binned(data: Floats) -> Bins:
    """From 0 to `BINS` - 1, by quantiles of all rows."""
    found: Bins = _BinMapper(n_bins=BINS + 1).fit_transform(data)
    return found


class Tree(NamedTuple):
    """Each level halves the rows of every node by one feature: those up to its last bin go to the lower half."""

    levels: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    """Of each node: feature, last bin."""
    leaves: Floats

    def predict(self, bins: Bins) -> Floats:
        node = np.zeros(len(bins), np.int64)
        for feature, last in self.levels:
            node = 2 * node + (bins[np.arange(len(bins)), feature[node]] > last[node])
        return self.leaves[node]


class Trees(NamedTuple):
    """A model, the same on all ranks."""

    base: float
    trees: list[Tree]

    def predict(self, bins: Bins) -> Floats:
        steps: Floats = np.sum([tree.predict(bins) for tree in self.trees], axis=0)
        return self.base + steps


def boosted(bins: Bins, target: Floats, total: Sum) -> Trees:
    """Grown from the rows of all ranks; ``bins``, ``target``: of this rank's rows."""
    first = total(np.array([target.sum(), len(bins)]))
    model = Trees(first[0] / first[1], [])
    bins, gradient = np.asfortranarray(bins), model.base - target
    for _ in range(TREES):
        model.trees.append(_grown(bins, gradient.astype(np.float32), total))
        gradient = gradient + model.trees[-1].predict(bins)
    return model


def _grown(bins: Bins, gradient: NDArray[np.float32], total: Sum) -> Tree:
    """A tree of squared errors, whose second derivatives are 1."""
    features = bins.shape[1]
    no, free, counts = np.zeros(features, np.uint8), np.zeros(features, np.int8), np.full(features, BINS, np.uint32)
    builder = HistogramBuilder(bins, BINS + 1, gradient, np.ones(1, np.float32), True, 1)
    splitter = Splitter(bins, counts, BINS, no, no, free, 0.0, min_samples_leaf=LEAST_ROWS, hessians_are_constant=True)
    nodes = [(splitter.partition, 0.0)]  # rows of this rank, value
    levels = []
    for _ in range(DEPTH):
        local = np.stack([builder.compute_histograms_brute(rows) for rows, _ in nodes])  # [nodes, features, bins]
        sums = total(np.concatenate([local[name].ravel() for name in SUMMED])).reshape(2, *local.shape)
        for name, each in zip(SUMMED, sums, strict=True):
            local[name] = np.round(each) if name == "count" else each
        splits = [_split(splitter, *each) for each in zip(nodes, local, strict=True)]
        levels.append((np.array([feature for feature, _, _ in splits]), np.array([last for _, last, _ in splits])))
        nodes = [child for _, _, children in splits for child in children]
    return Tree(levels, RATE * np.array([value for _, value in nodes]))


def _split(splitter: Any, node: tuple[Any, float], histogram: NDArray[Any]) -> tuple[int, int, list[tuple[Any, float]]]:
    """(feature, last bin of the lower half, both halves); a node that is not worth it is its lower half."""
    rows, value = node
    count, gradient = int(histogram["count"][0].sum()), histogram["sum_gradients"][0].sum()
    found = splitter.find_node_split(count, histogram, gradient, float(count), value) if count else None
    if found is None or found.gain <= 0:
        return 0, BINS, [(rows, value), (rows[:0], value)]
    lower, upper, _ = splitter.split_indices(found, rows)
    return found.feature_idx, found.bin_idx, [(lower, found.value_left), (upper, found.value_right)]


class Summed:
    """Sums of int32 by all_reduce or by a schedule, which all ranks get alike, in whatever order they are made."""

    def __init__(self, algorithm: str) -> None:
        self.algorithm, self.seconds, self.bytes = algorithm, 0.0, 0
        self._executors: dict[int, Executor] = {}

    def __call__(self, values: Floats) -> Floats:
        count = max(len(values), LEAST_ELEMENTS, dist.get_world_size())
        whole = torch.zeros(count, dtype=torch.int32)
        whole[: len(values)] = torch.from_numpy(np.round(values * FIXED_POINT))
        begin_s = time.monotonic()
        if self.algorithm == "switch":
            dist.all_reduce(whole)
        else:
            size_bytes = whole.numel() * whole.element_size()
            if size_bytes not in self._executors:
                schedule = ALGORITHMS[self.algorithm](star(dist.get_world_size()), size_bytes)
                self._executors[size_bytes] = Executor(schedule)
            executor = self._executors[size_bytes]
            sizes = (executor.schedule.chunk_bytes // 4).tolist()
            executor.run(dict(enumerate(torch.split(whole, sizes))))
        self.seconds += time.monotonic() - begin_s
        self.bytes += whole.numel() * whole.element_size()
        return whole.numpy()[: len(values)] / FIXED_POINT


def train(total: Summed) -> Trees:
    """On this rank's rows of the data: every so many-th one."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    data, target = load_diabetes(return_X_y=True)
    return boosted(binned(data)[rank::ranks], target[rank::ranks], total)


def explained(model: Trees) -> float:
    """R2: the share of the variance of all ranks' data."""
    data, target = load_diabetes(return_X_y=True)
    return float(1 - ((target - model.predict(binned(data))) ** 2).mean() / target.var())


def main(algorithm: str = "switch") -> int:
    if algorithm not in ("switch", *ALGORITHMS):
        print(f"{algorithm!r}: choose one of switch, {', '.join(ALGORITHMS)}", file=sys.stderr)
        return 2
    dist.init_process_group("netsum")
    total = Summed(algorithm)
    total(np.zeros(2))  # ranks find each other
    begin_s, total.seconds, total.bytes = time.monotonic(), 0.0, 0
    model = train(total)
    elapsed_s = time.monotonic() - begin_s
    if dist.get_rank() == 0:
        print(
            f"{algorithm}, {dist.get_world_size()} ranks: {TREES} trees, R2 {explained(model):.4f}; {elapsed_s:.2f} s, "
            f"{total.seconds:.2f} of them for {total.bytes:,} bytes of histograms"
        )
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
