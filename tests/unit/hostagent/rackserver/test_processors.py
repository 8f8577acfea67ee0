"""Which processors cores run on, on machines that are folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostagent.rackserver.processors import Node, choose, parse_list, processors_for, read_nodes


def machine(folder: Path, nodes: dict[int, str], siblings: dict[int, str]) -> Path:
    for node, listed in nodes.items():
        path = folder / f"node/node{node}/cpulist"
        path.parent.mkdir(parents=True)
        path.write_text(listed + "\n")
    for processor, listed in siblings.items():
        path = folder / f"cpu/cpu{processor}/topology/thread_siblings_list"
        path.parent.mkdir(parents=True)
        path.write_text(listed + "\n")
    return folder


def test_the_kernels_lists() -> None:
    assert parse_list("0-2,7,9-10\n") == [0, 1, 2, 7, 9, 10]
    assert parse_list("\n") == []


def test_nodes_have_whole_cores_first_and_only_what_is_allowed(tmp_path: Path) -> None:
    siblings = {cpu: f"{cpu % 4},{cpu % 4 + 4}" for cpu in range(8)}
    system = machine(tmp_path, {1: "2-3,6-7", 0: "0-1,4-5", 10: ""}, siblings)
    assert read_nodes(range(8), system) == [Node(0, (0, 1, 4, 5)), Node(1, (2, 3, 6, 7))]
    assert read_nodes({1, 5, 6}, system) == [Node(0, (1, 5)), Node(1, (6,))]


def test_a_machine_without_nodes_is_one(tmp_path: Path) -> None:
    assert read_nodes({3, 1}, tmp_path) == [Node(-1, (1, 3))]


TWO = (Node(0, (0, 1, 4, 5)), Node(1, (2, 3)))


@pytest.mark.parametrize(
    ("cores", "chosen"), [(1, [2]), (2, [2, 3]), (3, [0, 1, 4]), (5, [0, 1, 2, 3, 4]), (6, [0, 1, 2, 3, 4, 5]), (7, [])]
)
def test_cores_stay_on_one_node_where_they_fit_and_else_are_dealt_evenly(cores: int, chosen: list[int]) -> None:
    assert choose(cores, TWO) == chosen


def test_this_machine() -> None:
    assert len(processors_for(1)) == 1
    assert processors_for(1 << 16) == []
