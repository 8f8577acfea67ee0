"""Two levels of switches in time: right results, and times that links and levels explain."""

from __future__ import annotations

from typing import Any

import pytest

from pspin_model.flare.config import make_config
from pspin_model.flare.timed_tree import TreeReport, reduce_in_time
from pspin_model.machine.config import ConfigError


def through(tree: dict[str, Any], **options: Any) -> TreeReport:
    reduction = {"message": "4KiB", "children": 8, "algorithm": "tree", **options}
    config = make_config({"machine": {"clusters": 2}, "tree": tree, "reduction": [reduction]})
    assert config.tree is not None
    (report,) = reduce_in_time(config, config.tree)
    return report


@pytest.mark.parametrize(("algorithm", "dtype"), [("tree", "float32"), ("tree", "int32"), ("single", "int32")])
def test_a_tree_of_switches_in_time_gives_the_sum_over_all_hosts(algorithm: str, dtype: str) -> None:
    report = through({"leaves": 2}, algorithm=algorithm, type=dtype)
    assert report.exact
    assert 0 < report.leaf_cycles < report.root_cycles < report.cycles


def test_three_links_latency_and_rate_are_in_a_trees_completion_time() -> None:
    near, far = (through({"leaves": 2, "latency_cycles": cycles}) for cycles in (0, 1000))
    # up to the root, down to the leaves, down to the hosts
    assert far.cycles == near.cycles + 3 * 1000
    assert far.leaf_cycles == near.leaf_cycles
    assert through({"leaves": 2, "link_gbps": 10.0}).cycles > near.cycles + 3 * 800


def test_a_tree_that_cannot_be_is_refused_by_name() -> None:
    for tree, message in (({"leaves": 3}, "evenly"), ({}, "leaves = 8"), ({"leafs": 2}, "no field leafs")):
        with pytest.raises(ConfigError, match=message):
            through(tree)
