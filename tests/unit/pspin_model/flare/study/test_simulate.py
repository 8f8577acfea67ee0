"""Flare's handlers on the machine: right sums, the paper's relations, several reductions at once, refusals."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pspin_model.flare.config import FlareConfig, Reduction, flare_machine, make_config, parse_bytes
from pspin_model.flare.elements import ElementError
from pspin_model.flare.study.simulate import Outcome, simulate
from pspin_model.machine.config import ConfigError
from pspin_model.machine.costs import FLARE_COSTS, FLARE_REMEMBERED_COSTS, CostTable

MACHINE = flare_machine(clusters=4)
CEILING_GBPS = 32 * 8
"""32 cores at 1,024 cycles a packet of 1 KiB."""


def union(a: Any, b: Any) -> Any:
    return a | b


def run(message: str = "32KiB", machine: Any = MACHINE, costs: CostTable = FLARE_COSTS, **options: Any) -> Outcome:
    options.setdefault("children", 8)
    reduction = Reduction(parse_bytes(message), **options)
    (outcome,) = simulate(FlareConfig(machine, costs, (reduction,))).outcomes
    return outcome


@pytest.mark.parametrize("algorithm", ["single", "multi", "tree"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float16", "float32"])
def test_every_algorithm_gives_the_right_sum_for_every_type(algorithm: str, dtype: str) -> None:
    outcome = run("8KiB", algorithm=algorithm, dtype=dtype, arrivals="exponential", children=7)
    assert outcome.exact
    assert outcome.packets == 8 * 7
    assert outcome.faults == 0


@pytest.mark.parametrize("algorithm", ["single", "tree"])
@pytest.mark.parametrize("operator", ["min", "max", "product", "flare_operators:union"])
def test_other_operators_and_the_users_own_run_without_change(
    algorithm: str, operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "flare_operators", SimpleNamespace(union=union))
    assert run("2KiB", algorithm=algorithm, operator=operator, dtype="int32", children=5).exact


def test_functions_of_libraries_are_operators_too() -> None:
    outcome = run("2KiB", algorithm="single", operator="numpy:maximum", dtype="float16", children=3)
    assert outcome.exact
    with pytest.raises(ElementError, match="operator:xor does not compile for float32: No implementation"):
        run("1KiB", algorithm="tree", operator="operator:xor", children=3)


def test_an_operator_that_depends_on_the_order_wants_a_tree() -> None:
    with pytest.raises(ElementError, match="order of arrival"):
        run("1KiB", algorithm="multi", operator="math:hypot", dtype="int8", children=3)
    assert run("1KiB", algorithm="tree", operator="math:hypot", dtype="int8", children=3).exact


@pytest.mark.parametrize(
    ("costs", "times"),
    [
        (FLARE_COSTS, {"float32": 1, "int16": 1, "int8": 1}),  # two and four times the elements
        (FLARE_REMEMBERED_COSTS, {"float32": 1, "int16": 2, "int8": 3}),  # four, but for the links
    ],
)
def test_narrow_types_have_the_bytes_of_float32_or_of_the_remembered_table(
    costs: CostTable, times: dict[str, int]
) -> None:
    for dtype, expected in times.items():
        line_rate_gbps = 3 * CEILING_GBPS
        outcome = run(
            "128KiB", costs=costs, algorithm="single", dtype=dtype, children=32, line_rate_gbps=line_rate_gbps
        )
        assert outcome.bandwidth_gbps == pytest.approx(expected * CEILING_GBPS, rel=0.15)


@pytest.mark.parametrize("line_rate_gbps", [50.0, 1000.0])
@pytest.mark.parametrize(
    ("clusters", "dtype", "message"),
    [(2, "float32", "64KiB"), (4, "float32", "64KiB"), (2, "int16", "64KiB"), (2, "float32", "96KiB")],
)
def test_packet_rate_is_what_cores_or_links_allow(
    line_rate_gbps: float, clusters: int, dtype: str, message: str
) -> None:
    machine = flare_machine(clusters=clusters)
    outcome = run(message, machine, algorithm="single", children=16, line_rate_gbps=line_rate_gbps, dtype=dtype)
    rate = min(8 * clusters / outcome.service_cycles, line_rate_gbps / (1024 * 8))
    assert outcome.bandwidth_gbps == pytest.approx(rate * 1024 * 8, rel=0.1)


def test_staggered_sending_raises_the_bandwidth_of_a_single_buffer() -> None:
    together, staggered = (run("64KiB", algorithm="single", children=16, staggered=s) for s in (False, True))
    assert staggered.bandwidth_gbps > 1.5 * together.bandwidth_gbps
    assert staggered.service_cycles < together.service_cycles


def test_a_tree_is_fastest_while_messages_are_small() -> None:
    found = [run("4KiB", algorithm=name, children=32).bandwidth_gbps for name in ("single", "multi", "tree")]
    assert found == sorted(found)


def test_one_buffer_needs_least_memory_once_messages_are_large() -> None:
    single, tree = (run("128KiB", algorithm=name, children=16) for name in ("single", "tree"))
    assert single.bandwidth_gbps > 0.9 * tree.bandwidth_gbps
    assert single.working_peak_bytes <= tree.working_peak_bytes


@pytest.mark.parametrize("count", [2, 3])
def test_reductions_at_once_are_all_right_and_share_the_cores_evenly(count: int) -> None:
    one = Reduction(32 << 10, children=8, algorithm="single")
    report = simulate(FlareConfig(MACHINE, FLARE_COSTS, tuple(replace(one, seed=seed) for seed in range(count))))
    assert all(outcome.exact for outcome in report.outcomes)
    assert report.core_use > 0.9
    assert report.run is not None
    packets = report.run.packets
    until = 0.8 * min(outcome.cycles for outcome in report.outcomes)
    spent = np.minimum(packets["doorbell"], until) - np.minimum(packets["dispatch"], until)
    shares = [spent[packets["context"] == number].sum() / spent.sum() for number in range(count)]
    assert shares == pytest.approx([1 / count] * count, rel=0.1)


def test_reductions_of_different_types_take_turns_by_packets() -> None:
    """As many packets of each, so a type whose packets take twice as long has twice the cores."""
    slow, fast = (Reduction(32 << 10, children=8, algorithm="single", element_cycles=each) for each in (8.0, 4.0))
    report = simulate(FlareConfig(MACHINE, FLARE_COSTS, (slow, replace(fast, seed=1))))
    assert report.run is not None
    packets = report.run.packets
    until = 0.8 * min(outcome.cycles for outcome in report.outcomes)
    spent = np.minimum(packets["doorbell"], until) - np.minimum(packets["dispatch"], until)
    served = [np.count_nonzero((packets["context"] == number) & (packets["doorbell"] < until)) for number in (0, 1)]
    shares = [spent[packets["context"] == number].sum() / spent.sum() for number in (0, 1)]
    assert served[0] == pytest.approx(served[1], rel=0.15)
    assert shares == pytest.approx([2 / 3, 1 / 3], rel=0.1)


def test_what_does_not_fit_is_refused_and_the_other_reduction_goes_on() -> None:
    large = Reduction(8 << 20, children=64, algorithm="tree")
    report = simulate(FlareConfig(MACHINE, FLARE_COSTS, (large, Reduction(4 << 10, children=4))))
    assert "needs" in report.outcomes[0].refused
    assert "Reduce on the hosts" in report.outcomes[0].refused
    # 2 x 63/64 of 8 MiB on a link of 100 Gbit/s
    assert report.outcomes[0].fallback_cycles == 2 * 63 * (8 << 20) // 64 * 8 // 100 + 1
    assert report.outcomes[1].exact


def test_a_reduction_that_ends_gives_its_memory_to_one_that_begins_later() -> None:
    # of 2 places of 32 KiB and more in each L1 there is room for one
    small = flare_machine(clusters=2, l1_bytes=160 << 10)
    first = Reduction(64 << 10, children=4, algorithm="tree", dtype="int32")
    alone = simulate(FlareConfig(small, FLARE_COSTS, (first,))).outcomes[0]
    early, late = (replace(first, start_cycles=cycles) for cycles in (alone.cycles // 2, alone.cycles + 1))
    report = simulate(FlareConfig(small, FLARE_COSTS, (late, first, early)))
    taken, ended, refused = report.outcomes
    assert taken.exact
    assert ended.exact
    assert ended.cycles == taken.cycles == alone.cycles
    assert "are free" in refused.refused


@pytest.mark.parametrize("cores_per_block", [1, 4, 16])
def test_blocks_are_worked_on_by_any_number_of_cores(cores_per_block: int) -> None:
    outcome = run("16KiB", algorithm="single", children=4, cores_per_block=cores_per_block)
    assert outcome.exact


def test_one_core_a_block_never_waits_for_a_buffer() -> None:
    assert run("64KiB", algorithm="single", staggered=False, cores_per_block=1).service_cycles < 1.1 * 1024


def test_memory_and_core_use_over_time_add_up() -> None:
    report = simulate(FlareConfig(MACHINE, FLARE_COSTS, (Reduction(32 << 10, children=8, algorithm="multi"),)))
    working, arriving = report.working_series(), report.input_series()
    assert working.value[-1] == arriving.value[-1] == 0
    assert 1024 <= working.peak <= 32 * 4 * 1024
    assert 0.5 < report.core_use <= 1
    assert report.as_json()["reductions"][0]["exact"] is True


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "there is no [[reduction]]"),
        ({"reduction": [{"children": 4}]}, 'message = "1MiB"'),
        ({"reduction": [{"message": "1 MB of"}]}, "write 64KiB"),
        ({"reduction": [{"message": "1KiB", "type": "float64"}]}, "choose one of int8"),
        ({"reduction": [{"message": "1KiB", "operator": "median"}]}, "choose one of sum"),
        ({"reduction": [{"message": "1KiB", "colour": 1}]}, "no field colour; known: message, children"),
        ({"reduction": [{"mesage": "1KiB"}]}, "no field mesage; did you mean message"),
        ({"reduction": [{"message": "1KiB", "type": 3}]}, "type = 3 is not of type str"),
        ({"reduction": [{"message": "1KiB", "children": "many"}]}, "children = 'many' is not of type int"),
        ({"reduction": [{"message": "1KiB", "algorithm": "single", "reproducible": True}]}, "needs the tree"),
        ({"machine": {"clutsers": 4}, "reduction": [{"message": "1KiB"}]}, "no field clutsers; did you mean clusters"),
        ({"machine": {"costs": "free"}, "reduction": [{"message": "1KiB"}]}, "choose one of rtl, flare"),
        ({"reductoin": []}, "no table [reductoin]"),
        ({"machine": 5, "reduction": [{"message": "1KiB"}]}, "5 is not a table"),
        ({"reduction": 5}, "write [[reduction]]"),
        ({"reduction": [{"message": "1KiB", "seed": -1}]}, "seed must not be negative"),
        ({"reduction": [{"message": "1KiB", "line_rate_gbps": float("nan")}]}, "line_rate_gbps = nan"),
        ({"reduction": [{"message": "1GiB", "children": 1, "line_rate_gbps": 0.001}]}, "cycles, more than"),
        ({"reduction": [{"message": "1GiB"}]}, "at most 4294967296"),
        ({"reduction": [{"message": "1KiB", "packet_bytes": 4096}]}, "max_packet_bytes = 2048"),
        ({"machine": {"stack_bytes": 64}, "reduction": [{"message": "1KiB"}]}, "stack_bytes = 64"),
        ({"machine": {"cores": True}, "reduction": [{"message": "1KiB"}]}, "cores = True"),
        ({"machine": {"commands_in_flight": 0}, "reduction": [{"message": "1KiB"}]}, "commands_in_flight must be"),
        ({"machine": {"commands_per_core": 1 << 16}, "reduction": [{"message": "1KiB"}]}, "at most 131,071"),
    ],
)
def test_a_wrong_configuration_says_what_is_wrong(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_config(given)
    assert message in str(caught.value)


def test_auto_chooses_by_size_and_the_tree_for_reproducible_results() -> None:
    sizes = [Reduction(size).chosen(flare_machine()).algorithm for size in (64 << 10, 256 << 10, 1 << 20)]
    assert sizes == ["tree", "multi", "single"]
    assert Reduction(1 << 20, reproducible=True).chosen(flare_machine()).algorithm == "tree"


def test_halves_are_rounded_as_numpy_does() -> None:
    from pspin_model.flare.combine import half_to_single, single_to_half

    halves = np.concatenate([np.arange(0, 65536, 37), [0, 1, 0x3FF, 0x400, 0x7BFF, 0x7C00, 0x8000]]).astype(np.uint16)
    singles = halves.view(np.float16).astype(np.float32)
    finite = ~np.isnan(singles)
    assert [half_to_single(bits) for bits in halves[finite]] == singles[finite].tolist()
    values = (np.random.default_rng(0).normal(0, 1, 500) * 10.0 ** np.arange(-9, 6).repeat(40)[:500]).astype(np.float32)
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16).view(np.uint16)
    assert [single_to_half(value) for value in values] == expected.tolist()
