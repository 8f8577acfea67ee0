"""The explorations of ``make explore``: small enough to be complete, large enough for every rule of the protocol.

With 2 slots no set is used twice by 3 chunks; with 1 slot the third chunk takes the first one's set. Both are here.
"""

from __future__ import annotations

from tests.explore.scenario import Bounds, Scenario

SCENARIOS = {
    "star-2-loss": Scenario(2, bounds=Bounds(losses=1, duplicates=1, early=1)),
    "star-2-losses": Scenario(2, bounds=Bounds(losses=2, duplicates=1)),
    "star-2-duplicates": Scenario(2, bounds=Bounds(duplicates=3)),
    "star-2-restart": Scenario(2, bounds=Bounds(restarts=1)),
}
