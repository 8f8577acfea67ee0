"""A rank of gradient boosted trees: each has some rows of scikit-learn's diabetes data, and histograms are summed.

    netsum run -n 4 -m hostagent.cli.schedule.boosted_trees [switch|ring|hd|tree|bcube]

Trees grow level by level from histograms of gradients (Ke et al., LightGBM, NIPS 2017, algorithm 1), with the same sums
on all ranks and so the same splits. The sums are made in the switch, or by a schedule of messages, whose order of ranks
NETSUM_REORDER=probe chooses.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes

from emulator.network.topology.builders import star
from hostagent.collectives.execute.executor import Executor
from hostagent.planner.placement.model import ALGORITHMS

TREES, DEPTH, BINS, RATE, LEAST_ROWS = 60, 3, 32, 0.1, 10
FIXED_POINT = 1 << 12
"""Of int32, whose sums no order of additions changes; those of the residuals here are below 2 ** 17."""
LEAST_ELEMENTS = 16
"""Of a sum, one for each chunk of a schedule: two trees of eight pieces, or one chunk for each rank."""
Floats = NDArray[np.float64]
Sum = Callable[[Floats], Floats]
"""Of all ranks' arrays, at each of them."""


def binned_by_quantiles(data: Floats) -> NDArray[np.int64]:
    """[rows, features], from 0 to `BINS` - 1."""
    edges = np.quantile(data, np.arange(1, BINS) / BINS, axis=0)
    return np.stack([np.searchsorted(*each) for each in zip(edges.T, data.T, strict=True)], axis=1)


class Tree(NamedTuple):
    """Each level halves the rows of every node by one feature: those up to its last bin go to the lower half."""

    levels: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    """Of each node: feature, last bin."""
    leaves: Floats

    def leaf(self, bins: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of each row."""
        node = np.zeros(len(bins), np.int64)
        for level in self.levels:
            node = _halved(node, bins, *level)
        return node


class Trees(NamedTuple):
    """A model, the same on all ranks."""

    base: float
    trees: list[Tree]

    def predict(self, bins: NDArray[np.int64]) -> Floats:
        """``bins`` [rows, features]."""
        steps: Floats = np.sum([tree.leaves[tree.leaf(bins)] for tree in self.trees], axis=0)
        return self.base + steps


def boosted(bins: NDArray[np.int64], target: Floats, total: Sum) -> Trees:
    """Grown from the rows of all ranks; ``bins`` [rows of this rank, features]: from 0 to `BINS` - 1."""
    rows, features = bins.shape
    first = total(np.array([target.sum(), rows]))
    model = Trees(first[0] / first[1], [])
    residual = target - model.base
    for _ in range(TREES):
        node, levels = np.zeros(rows, np.int64), []
        for level in range(DEPTH):
            shape = (1 << level, features, BINS)
            cell = np.ravel_multi_index((node[:, None], np.arange(features), bins), shape).ravel()
            weights = np.repeat(residual, features)
            local = [np.bincount(cell, each, np.prod(shape)) for each in (weights, np.ones_like(weights))]
            levels.append(_best_split(total(np.concatenate(local)).reshape(2, *shape)))
            node = _halved(node, bins, *levels[-1])
        local = [np.bincount(node, each, 1 << DEPTH) for each in (residual, np.ones(rows))]
        sums, counts = total(np.concatenate(local)).reshape(2, -1)
        model.trees.append(Tree(levels, RATE * sums / np.maximum(counts, 1)))
        residual = residual - model.trees[-1].leaves[node]
    return model


def _best_split(histogram: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(feature, last bin) of each node; ``histogram`` [2, nodes, features, bins]: sums of residuals, and rows."""
    residual, count = np.cumsum(histogram, axis=-1)
    parts = ((residual, count), (residual[..., -1:] - residual, count[..., -1:] - count))
    gain = sum(each**2 / np.maximum(rows, 1) for each, rows in parts)
    fits = (count >= LEAST_ROWS) & (count[..., -1:] - count >= LEAST_ROWS)
    return np.divmod(np.where(fits, gain, -np.inf).reshape(len(gain), -1).argmax(axis=1), BINS)


def _halved(
    node: NDArray[np.int64], bins: NDArray[np.int64], feature: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The nodes of the next level."""
    below: NDArray[np.int64] = 2 * node + (bins[np.arange(len(bins)), feature[node]] > last[node])
    return below


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
    return boosted(binned_by_quantiles(data)[rank::ranks], target[rank::ranks], total)


def explained(model: Trees) -> float:
    """R2: the share of the variance of all ranks' data."""
    data, target = load_diabetes(return_X_y=True)
    return float(1 - ((target - model.predict(binned_by_quantiles(data))) ** 2).mean() / target.var())


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
