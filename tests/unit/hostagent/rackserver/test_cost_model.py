"""When the hierarchy pays: the inequality, and the same in virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hostagent.lab.rack_network import Rates
from hostagent.lab.racks import Step, play
from hostagent.rackserver.cost_model import (
    Answers,
    Cluster,
    flat_bytes,
    flat_time_s,
    hierarchical_bytes,
    hierarchical_time_s,
    pays,
    switch_over_bps,
)

CLUSTER = Cluster(model_bytes=100e6, racks=4, workers=8, worker_bps=10e9, server_bps=80e9, uplink_bps=40e9)


def test_bytes_fall_from_n_to_2_times_the_part_that_crosses() -> None:
    assert flat_bytes(CLUSTER) == 8 * 100e6 * 3 / 4
    assert hierarchical_bytes(CLUSTER) == 2 * 100e6 * 3 / 4
    assert flat_bytes(CLUSTER, Answers.COPIES) == 2 * flat_bytes(CLUSTER)
    assert flat_bytes(replace(CLUSTER, racks=1)) == hierarchical_bytes(replace(CLUSTER, racks=1)) == 0


def test_the_switch_over_is_where_the_uplink_holds_the_flat_scheme_up() -> None:
    assert switch_over_bps(CLUSTER) == 8 * 10e9 * 3 / 4
    assert switch_over_bps(replace(CLUSTER, workers=2)) == 0
    assert switch_over_bps(replace(CLUSTER, server_bps=40e9)) == 8 * 5e9 * 3 / 4


@pytest.mark.parametrize("answers", Answers)
@pytest.mark.parametrize("pipelined", [True, False])
@pytest.mark.parametrize("workers", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("server_bps", [20e9, 400e9])
def test_it_pays_below_the_switch_over_and_not_above(
    answers: Answers, pipelined: bool, workers: int, server_bps: float
) -> None:
    cluster = replace(CLUSTER, workers=workers, server_bps=server_bps)
    limit = switch_over_bps(cluster, answers, pipelined=pipelined)
    assert not pays(replace(cluster, uplink_bps=1.01 * limit + 1e3), answers, pipelined=pipelined)
    if limit:
        assert pays(replace(cluster, uplink_bps=0.99 * limit), answers, pipelined=pipelined)


@pytest.mark.parametrize("uplink_bps", [1_000_000_000, 16_000_000_000])
def test_virtual_time_is_the_models_but_for_filling_the_pipeline(uplink_bps: int) -> None:
    """Below the switch-over of 6 Gbit/s (answers counted), and above it."""
    times = {}
    for scheme in ("flat", "ring", "sharded"):
        step = Step(scheme, 2, 3, 24, Rates(2_000_000_000, 12_000_000_000, uplink_bps), lanes=64)
        cluster = Cluster(step.frame_bits / 8, 2, 3, 2e9, 12e9, uplink_bps)
        outcome = play(step)
        times[scheme] = outcome.time_ns / 1e9
        model_s = flat_time_s(cluster, Answers.COPIES) if scheme == "flat" else hierarchical_time_s(cluster)
        assert outcome.complete
        assert model_s <= times[scheme] < 1.35 * model_s
    limit = switch_over_bps(cluster, Answers.COPIES)
    assert limit == 6e9
    if uplink_bps < limit:
        assert max(times["ring"], times["sharded"]) < times["flat"]
    else:
        assert min(times["ring"], times["sharded"]) > 0.9 * times["flat"]
