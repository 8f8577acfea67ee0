"""The explorations of ``make explore``: small enough to be complete, large enough for every rule of the protocol.

With 2 slots no set is used twice by 3 chunks; with 1 slot the third chunk takes the first one's set. Both are here.
"""

from __future__ import annotations

from tests.explore.scenario import Bounds, Scenario

PAIR, PAIR_AND_ONE = (1, 1), (2, 1)
"""Workers below the leaves of trees."""

SCENARIOS = {
    "star-2-loss": Scenario(2, bounds=Bounds(losses=1, duplicates=1, early=1)),
    "star-2-losses": Scenario(2, bounds=Bounds(losses=2, duplicates=1)),
    "star-2-restart": Scenario(2, bounds=Bounds(losses=1, restarts=1)),
    "star-2-reuse": Scenario(2, window=1, bounds=Bounds(losses=1, duplicates=1, restarts=1)),
    "star-2-reuse-early": Scenario(2, window=1, bounds=Bounds(losses=1, duplicates=1, early=1)),
    "star-2-reuse-restarts": Scenario(2, window=1, bounds=Bounds(losses=1, restarts=2)),
    "star-2-operations": Scenario(2, window=1, operations=(1, 1, 1), bounds=Bounds(losses=1, duplicates=1, restarts=1)),
    "star-2-wrap": Scenario(2, window=1, base=2**32 - 1, bounds=Bounds(losses=1, duplicates=1, restarts=1)),
    "star-3-loss": Scenario(3, bounds=Bounds(losses=1)),
    "star-3-duplicate": Scenario(3, operations=(2,), bounds=Bounds(losses=1, duplicates=1)),
    "star-3-reuse": Scenario(3, window=1, bounds=Bounds(losses=1, duplicates=1)),
    "star-3-reuse-restart": Scenario(3, window=1, bounds=Bounds(losses=1, restarts=1)),
    "tree-2-loss": Scenario(2, PAIR, bounds=Bounds(losses=1, duplicates=1)),
    "tree-2-restart": Scenario(2, PAIR, operations=(1,), bounds=Bounds(losses=1, duplicates=1, restarts=1)),
    "tree-2-reuse": Scenario(2, PAIR, window=1, bounds=Bounds(losses=1, duplicates=1)),
    "tree-2-reuse-restart": Scenario(2, PAIR, window=1, bounds=Bounds(losses=1, restarts=1)),
    "tree-2-reuse-restart-duplicate": Scenario(2, PAIR, window=1, bounds=Bounds(duplicates=1, restarts=1)),
    "tree-3-loss": Scenario(3, PAIR_AND_ONE, operations=(2,), bounds=Bounds(losses=1)),
    "tree-3-reuse": Scenario(3, PAIR_AND_ONE, window=1, bounds=Bounds(losses=1, duplicates=1)),
    "tree-3-restart": Scenario(3, PAIR_AND_ONE, window=1, operations=(2,), bounds=Bounds(restarts=1)),
}
