"""Trees of switches in time: the manager's trees, right results under loss, times that links and levels explain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pspin_model.flare.config import make_config
from pspin_model.flare.study.plots_tree import plot_tree
from pspin_model.flare.study.tree_report import TreeOutcome, TreeReport, level_rows, reduce_in_time
from pspin_model.flare.tree import simulation
from pspin_model.machine.config import ConfigError

SPARSE = {"message": "32KiB", "type": "int32", "density": 0.05, "algorithm": "auto"}
FEW = {**SPARSE, "message": "2KiB", "density": 0.1}


def run(tree: dict[str, Any], *reductions: dict[str, Any], **machine: int) -> TreeOutcome:
    made = [{"message": "4KiB", "children": 8, "algorithm": "tree", **options} for options in reductions or ({},)]
    config = make_config({"machine": {"clusters": 2, **machine}, "tree": tree, "reduction": made})
    assert config.tree is not None
    return reduce_in_time(config, config.tree)


def through(tree: dict[str, Any], **options: Any) -> TreeReport:
    (report,) = run(tree, options).reports
    return report


@pytest.mark.parametrize(("algorithm", "dtype"), [("tree", "float32"), ("tree", "int32"), ("single", "int32")])
@pytest.mark.parametrize("fan_in", [[8], [4, 2], [2, 2, 2]])
def test_a_tree_of_switches_in_time_gives_the_sum_over_all_hosts(algorithm: str, dtype: str, fan_in: list[int]) -> None:
    report = through({"fan_in": fan_in}, algorithm=algorithm, type=dtype)
    assert report.exact
    assert [level.children for level in report.levels] == fan_in
    done = [level.done_cycles for level in report.levels]
    assert done == sorted(done)
    assert done[-1] < report.cycles


def test_four_links_latency_and_rate_are_in_a_trees_completion_time() -> None:
    near, far = (through({"leaves": 2, "latency_cycles": cycles}) for cycles in (0, 1000))
    # up to the leaves and the root, down to the leaves and the hosts
    assert far.cycles == near.cycles + 4 * 1000
    assert far.levels[0].done_cycles == near.levels[0].done_cycles + 1000
    assert through({"leaves": 2, "link_gbps": 10.0}).cycles > near.cycles + 4 * 700


@pytest.mark.parametrize("storage", ["array", "hash"])
def test_a_sparse_result_fills_up_on_its_way_to_the_root(storage: str) -> None:
    report = through({"fan_in": [2, 2, 2]}, **SPARSE, storage=storage)
    assert report.exact
    figures = [level.sparse for level in report.levels if level.sparse]
    full = [report.density, *(each.result_density for each in figures)]
    assert full == sorted(full)
    assert figures[0].bytes_out == figures[1].bytes_in  # what a level sends is what the next gets
    assert (figures[-1].spilled > 0) == (storage == "hash")


@pytest.mark.parametrize(
    "options", [{"algorithm": "tree"}, SPARSE, {**SPARSE, "storage": "array", "algorithm": "multi"}]
)
def test_hosts_repeat_what_links_lose_and_every_block_closes(options: dict[str, Any]) -> None:
    tree = {"fan_in": [4, 2], "loss": 0.1, "repeat": 0.1, "timeout_cycles": 8_000, "seed": 3}
    outcome = run(tree, options)
    (report,) = outcome.reports
    assert report.exact
    assert outcome.lost > 0
    assert report.sent_again > 0
    assert sum(level.repeats for level in report.levels) > 0
    assert report.faults == ()


DEEP = {"fan_in": [4, 2, 2], "seed": 4}


@pytest.mark.parametrize("options", [{**SPARSE, "entries": 64}, {"algorithm": "tree", "message": "64KiB"}])
def test_only_what_was_lost_is_sent_again_and_only_to_where_it_was_lost(options: dict[str, Any]) -> None:
    whole, lossy = (run({**DEEP, "loss": loss}, {**options, "children": 16}) for loss in (0.0, 0.01))
    (report,) = lossy.reports
    assert report.exact
    assert lossy.lost > 0
    # a result that was lost on its way down to many hosts may be asked for by one of them, and then by all
    assert report.sent_again + sum(level.sent_again for level in report.levels) <= 2 * lossy.lost
    assert report.requests > 0
    carried, first = (sum(link.carried_bytes for link in one.network.links) for one in (lossy, whole))
    assert carried < 1.3 * first
    # a switch takes nothing twice that its links did not deliver twice
    assert sum(level.repeats for level in report.levels) <= lossy.lost


@pytest.mark.parametrize("options", [{**SPARSE, "density": 0.02}, {"message": "128KiB", "algorithm": "single"}])
def test_hosts_ask_for_nothing_where_nothing_is_lost_however_long_it_takes(options: dict[str, Any]) -> None:
    # of 16 hosts' links 8 cores take a part
    outcome = run({**DEEP, "loss": 1e-12}, {**options, "children": 16}, clusters=1, l1_bytes=4 << 20)
    (report,) = outcome.reports
    assert report.exact
    assert report.cycles > 4 * outcome.network.tree.patience_cycles
    assert report.requests == 0


def test_a_tree_that_ends_gives_its_memory_to_one_that_begins_later() -> None:
    wide = {"message": "32KiB", "algorithm": "tree", "type": "int32"}
    (alone,) = run({"fan_in": [4, 2]}, wide, l1_bytes=(17 + 64 + 64) << 10).reports
    for loss in (0.0, 0.001):
        starts = (alone.cycles // 2, 20 * alone.cycles)
        early, late = ({**wide, "start_cycles": start} for start in starts)
        outcome = run({"fan_in": [4, 2], "loss": loss}, late, wide, early, l1_bytes=(17 + 64 + 64) << 10)
        taken, first, refused = outcome.reports
        assert taken.exact
        assert first.exact
        assert "bytes left" in refused.refused
        assert loss or taken.cycles == first.cycles == alone.cycles


def test_hosts_give_up_in_words_where_nothing_gets_through() -> None:
    tree = {"fan_in": [2], "loss": 0.999, "latency_cycles": 10, "timeout_cycles": 100}
    (report,) = run(tree, {"message": "1KiB", "children": 2}).reports
    assert not report.exact
    assert "hosts miss 2 results of blocks: gave up" in report.faults[0]


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_trees_of_several_levels_are_right_though_links_lose_nearly_half(seed: int) -> None:
    tree = {"fan_in": [2, 2, 2], "loss": 0.4, "seed": seed}
    outcome = run(tree, FEW if seed % 2 else {"message": "2KiB"})
    (report,) = outcome.reports
    assert report.exact
    assert report.cycles < 100 * outcome.network.tree.patience_cycles


def test_hosts_do_not_give_up_while_anything_gets_on_inside_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "MOST_FRUITLESS_ROUNDS", 10)
    outcome = run({"fan_in": [2, 2, 2, 2], "loss": 0.3, "seed": 1}, {**FEW, "children": 16})
    (report,) = outcome.reports
    assert report.exact
    first = min(min(sender.done_at) for one in outcome.network.reductions for sender in one.senders)
    assert first > 15 * outcome.network.tree.patience_cycles


def test_the_manager_goes_round_a_full_root_and_refuses_what_does_not_fit() -> None:
    wide = {"message": "32KiB", "algorithm": "tree", "type": "int32"}
    # an L1 with room for two reductions on a leaf of two hosts, but for one on a root of four leaves
    outcome = run({"fan_in": [2, 4], "roots": 2}, wide, wide, wide, l1_bytes=(17 + 64 + 64) << 10)
    first, second, third = outcome.reports
    assert {first.root, second.root} == {"root0", "root1"}
    assert first.exact
    assert second.exact
    assert "bytes left" in third.refused
    assert third.fallback_cycles == 2 * 7 / 8 * (32 << 10) * 8 / 100 // 1 + 1
    booked = outcome.network.manager.free_bytes["root0"]
    assert booked == (64 << 10) - first.levels[-1].booked_bytes


def test_a_tree_has_a_picture_and_rows(tmp_path: Path) -> None:
    outcome = run({"fan_in": [4, 2]}, SPARSE, {})
    plot_tree(outcome, tmp_path / "tree.png")
    assert (tmp_path / "tree.png").stat().st_size > 10_000
    assert [(row["name"], row["level_level"]) for row in level_rows(outcome.reports)] == [
        ("reduction0", 0), ("reduction0", 1), ("reduction1", 0), ("reduction1", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(("fan_in", "children"), [([4, 2], 8), ([16, 32], 256)])
def test_reductions_are_of_all_hosts_of_a_tree_unless_they_say(fan_in: list[int], children: int) -> None:
    given = {"tree": {"fan_in": fan_in}, "reduction": [{"message": "4KiB"}, {"message": "4KiB", "children": 2}]}
    assert [reduction.children for reduction in make_config(given).reductions] == [children, 2]
    alone = make_config({"reduction": [{"message": "4KiB"}]})
    assert alone.reductions[0].children == 64


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"leaves": 3}, "evenly"),
        ({}, "fan_in = \\[8, 8\\]"),
        ({"leafs": 2}, "no field leafs"),
        ({"fan_in": [2, 2]}, "children; fan_in"),
        ({"fan_in": [8, 0]}, "at least 1"),
        ({"fan_in": [8, 1], "loss": 1.0}, "loss"),
        ({"fan_in": [8], "roots": 2}, "roots = 2: fan_in = \\[8\\] is one switch, the only root"),
        ({"fan_in": [8], "roots": 0}, "roots = 0 is not a whole number from 1"),
        ({"fan_in": [8], "link_gbps": float("nan")}, "link_gbps = nan"),
        ({"fan_in": [8], "loss": 0.1, "timeout_cycles": 1}, "less than the latency_cycles"),
        ({"fan_in": [80, 80]}, "6400 hosts"),
        (3, "3 is not a table"),
    ],
)
def test_a_tree_that_cannot_be_is_refused_by_name(tree: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run(tree)
