"""Boosted trees from summed histograms: those of scikit-learn, however rows are shared out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor

from hostagent.cli.schedule.boosted_trees import (
    BINS,
    DEPTH,
    LEAST_ROWS,
    RATE,
    TREES,
    Floats,
    Trees,
    binned,
    boosted,
    explained,
    main,
)

RANKS = 3
DATA, TARGET = load_diabetes(return_X_y=True)
BINNED = binned(DATA)
ALONE = boosted(BINNED, TARGET, lambda values: values)


def test_of_one_rank_they_are_those_of_scikit_learn() -> None:
    model = HistGradientBoostingRegressor(
        max_iter=TREES,
        max_depth=DEPTH,
        max_leaf_nodes=None,
        learning_rate=RATE,
        min_samples_leaf=LEAST_ROWS,
        max_bins=BINS,
        early_stopping=False,
    )
    theirs = model.fit(DATA, TARGET)
    assert ALONE.predict(BINNED) == pytest.approx(theirs.predict(DATA), rel=1e-5)
    assert explained(ALONE) == pytest.approx(theirs.score(DATA, TARGET))


def test_rows_of_several_ranks_are_the_same_trees() -> None:
    barrier = Barrier(RANKS)
    given: dict[int, Floats] = {}

    def grown(rank: int) -> Trees:
        def total(values: Floats) -> Floats:
            given[rank] = values
            barrier.wait(10)
            whole = np.sum([given[each] for each in range(RANKS)], axis=0)
            barrier.wait(10)
            return np.asarray(whole)

        return boosted(BINNED[rank::RANKS], TARGET[rank::RANKS], total)

    with ThreadPoolExecutor(RANKS) as pool:
        for found in pool.map(grown, range(RANKS)):
            assert found.predict(BINNED) == pytest.approx(ALONE.predict(BINNED), rel=1e-6)


def test_no_such_algorithm(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("star") == 2
    assert "'star': choose one of switch, ring, hd, tree, bcube" in capsys.readouterr().err
