"""The paper's cost model: rates, contention, memory, and where one algorithm becomes better than another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pspin_model.flare.models.dense import (
    Algorithm,
    Setting,
    block_interval,
    ceiling_gbps,
    choose_algorithm,
    contenders,
    crossovers,
    host_bytes,
    input_packets,
    packet_rate,
    predict,
    waiting_service,
    working_memory,
)
from pspin_model.machine.config import ConfigError

REFERENCE = Setting(cores=512, children=64, message_bytes=4 << 20, add_cycles=1024)
"""Flare's switch: 64 clusters of 8 cores, 64 ports, float32 at 4 cycles, 256 in a packet."""


def test_packet_rate_is_the_lower_of_what_cores_and_links_do() -> None:
    assert packet_rate(512, 1024, 1.28) == 0.5
    assert packet_rate(512, 100, 1.28) == 1 / 1.28


def test_float32_peaks_at_4_1_tbit_and_narrow_types_at_the_line_rate() -> None:
    assert ceiling_gbps(512, 1024, 1024) == 4096
    assert ceiling_gbps(512, 1024, 512, line_rate_gbps=1e9) == 2 * 4096
    assert ceiling_gbps(512, 1024, 256) == 6400
    assert predict(REFERENCE).bandwidth_gbps == pytest.approx(4096)


def test_half_of_the_contenders_go_first() -> None:
    assert waiting_service(1024, 1) == 1024
    assert waiting_service(1024, 5) == 3 * 1024


@pytest.mark.parametrize(("gap", "expected"), [(1024, 1), (5000, 1), (512, 3), (1, 8)])
def test_contention_ends_when_packets_are_an_addition_apart(gap: int, expected: int) -> None:
    assert contenders(64, 8, 1024, gap) == expected


def test_staggered_hosts_spread_a_block_over_the_whole_message() -> None:
    assert block_interval(2, 100, 64, staggered=False) == 2
    assert block_interval(2, 100, 64, staggered=True) == 200


def test_staggering_raises_the_bandwidth_of_a_single_buffer() -> None:
    together = predict(replace(REFERENCE, staggered=False))
    assert together.contenders == 8
    assert predict(REFERENCE).bandwidth_gbps > 4 * together.bandwidth_gbps


def test_one_core_a_block_has_no_contention() -> None:
    assert predict(replace(REFERENCE, staggered=False, cores_per_block=1)).contenders == 1


def test_crossovers_are_the_papers_128_and_512_kib() -> None:
    assert crossovers(512, 1024, 4) == (128 << 10, 512 << 10)
    chosen = [choose_algorithm(size << 10, reproducible=False) for size in (64, 128, 511, 512, 4096)]
    assert chosen == [Algorithm.TREE, Algorithm.MULTI, Algorithm.MULTI, Algorithm.SINGLE, Algorithm.SINGLE]
    assert choose_algorithm(4 << 20, reproducible=True) is Algorithm.TREE


@pytest.mark.parametrize("size_kib", [64, 256, 1024])
def test_the_choice_needs_least_memory_within_10_percent_of_the_best_rate(size_kib: int) -> None:
    message = replace(REFERENCE, message_bytes=size_kib << 10, buffers=4)
    found = {algorithm: predict(replace(message, algorithm=algorithm)) for algorithm in Algorithm}
    best = max(prediction.bandwidth_gbps for prediction in found.values())
    fast = {a: p.working_bytes for a, p in found.items() if p.bandwidth_gbps > 0.9 * best}
    chosen = choose_algorithm(size_kib << 10, reproducible=False)
    assert chosen in fast
    if chosen is Algorithm.SINGLE:
        assert min(fast, key=fast.__getitem__) is Algorithm.SINGLE


def test_littles_law_gives_input_and_working_memory() -> None:
    assert input_packets(0.5, 1024) == 512
    assert input_packets(0.5, 1024, queueing_cycles=1024) == 1024
    assert working_memory(0.5, 64, lifetime_cycles=6400, buffer_bytes=1024, buffers=2) == 2 * 1024 * 50


def test_a_block_lives_from_its_first_child_to_its_last() -> None:
    found = predict(replace(REFERENCE, children=4))
    assert found.latency_cycles == pytest.approx(3 * found.block_interval_cycles + 1024)


@pytest.mark.parametrize("name", ["cores", "children", "add_cycles"])
def test_a_setting_without_anything_is_refused_by_name(name: str) -> None:
    change: dict[str, Any] = {name: 0}
    with pytest.raises(ConfigError, match=f"{name} = 0"):
        replace(REFERENCE, **change)


def test_a_host_sends_the_message_once_and_almost_twice_on_a_ring() -> None:
    assert host_bytes(1 << 20, 8) == {"in_network": 1 << 20, "ring": 7 / 4 * (1 << 20)}
