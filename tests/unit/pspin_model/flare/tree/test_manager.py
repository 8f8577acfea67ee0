"""The network manager: trees, refusals that change nothing, and numbers that rest before they come again."""

from __future__ import annotations

import pytest

from pspin_model.flare.tree.manager import Fabric, Manager, ReductionRefused, TopologyError

HOSTS = {f"h{i}": f"leaf{i // 2}" for i in range(6)}


def fabric(**memory: int) -> Fabric:
    """Three leaves of two hosts, under two spines."""
    names = ("leaf0", "leaf1", "leaf2", "spine0", "spine1")
    cables = [(leaf, spine) for leaf in names[:3] for spine in names[3:]]
    return Fabric({name: memory.get(name, 100) for name in names}, cables, HOSTS)


def test_a_tree_takes_the_shortest_ways_and_numbers_its_children() -> None:
    tree = Manager(fabric()).request(HOSTS, 10)
    assert tree.depth == 2
    assert tree.root.startswith("spine")
    assert tree.plans["leaf1"].children == ("h2", "h3")
    assert tree.plans["leaf1"].parent == tree.root
    assert sorted(tree.plans[tree.root].children) == ["leaf0", "leaf1", "leaf2"]


def test_hosts_of_one_switch_need_no_other() -> None:
    tree = Manager(fabric()).request(["h0", "h1"], 10)
    assert list(tree.plans) == ["leaf0"]
    assert tree.plans["leaf0"].parent is None


def test_a_full_spine_is_gone_round() -> None:
    assert Manager(fabric(spine0=5)).request(HOSTS, 10).root == "spine1"


def test_what_does_not_fit_is_refused_and_nothing_is_booked() -> None:
    manager = Manager(fabric(leaf2=5))
    with pytest.raises(ReductionRefused, match="leaf2 has 5"):
        manager.request(HOSTS, 10)
    assert manager.trees == {}
    assert manager.free_bytes["leaf0"] == 100


def test_several_at_once_share_memory_until_one_is_released() -> None:
    manager = Manager(fabric())
    first, second = manager.request(HOSTS, 50), manager.request(HOSTS, 50)
    assert first.number != second.number
    with pytest.raises(ReductionRefused):
        manager.request(HOSTS, 50)
    manager.release(first.number)
    manager.release(first.number)
    assert manager.request(HOSTS, 50).number not in (first.number, second.number)


def test_numbers_run_out_with_an_error() -> None:
    manager = Manager(Fabric({"s": 1000}, [], {"h": "s"}))
    for _ in range(256):
        manager.request(["h"], 1)
    with pytest.raises(ReductionRefused, match="256 reductions are under way"):
        manager.request(["h"], 1)


def test_a_wrong_fabric_or_host_is_named() -> None:
    with pytest.raises(TopologyError, match="no switch x"):
        Fabric({"s": 1}, [("s", "x")], {})
    with pytest.raises(TopologyError, match="no host g"):
        Manager(fabric()).request(["g"], 1)
