"""``netsum bench pspin``: how fast the model of the PsPIN switch simulates, and what Flare's switch reaches on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from hostagent.cli.bench.runner import Report, Row

RTL_CYCLES_PER_S = 250
"""Simulated cycles a second of wall time of the public RTL under Verilator, measured on a machine like ours."""
REPEATS = 3
ECHO_PACKETS = 20_000
KIB = 1024
TYPE_BYTES = {"float32": 4, "int16": 2, "int8": 1}


def measure() -> Report:
    """Simulated cycles a second of wall time, one core, compiled beforehand, best of three; then Flare's figures."""
    rows = [_echo(), _dense(), *_ceilings(), *_crossovers(), _staggering()]
    return Report("pspin", "the model of the PsPIN switch, and Flare's 512 cores with 64 children on it", rows)


def _echo() -> Row:
    from pspin_model.examples.run import run_example

    def play() -> tuple[int, int]:
        _, run, _ = run_example("ping_pong", 1, ECHO_PACKETS, KIB, 0)
        return len(run.packets["start"]), run.cycles

    return _speed("simulation of echo, 32 cores, 1 KiB", play)


def _dense() -> Row:
    def play() -> tuple[int, int]:
        outcome = _flare(256 * KIB, "tree")
        return outcome.packets, outcome.cycles

    return _speed("simulation of a dense reduction, 512 cores, 64 children, 1 KiB", play)


def _flare(message_bytes: int, algorithm: str, costs: str = "flare", **options: Any) -> Any:
    """Outcome of a reduction by 512 cores with 64 children, by a cost table."""
    from pspin_model.flare.config import FlareConfig, Reduction, flare_machine
    from pspin_model.flare.study.simulate import simulate
    from pspin_model.machine.costs import TABLES

    reduction = Reduction(message_bytes, algorithm=algorithm, **options)
    (outcome,) = simulate(FlareConfig(flare_machine(), TABLES[costs], (reduction,))).outcomes
    return outcome


def _speed(name: str, play: Callable[[], tuple[int, int]]) -> Row:
    play()
    best, packets, cycles = float("inf"), 0, 0
    for _ in range(REPEATS):
        began = time.process_time()  # others on the machine are not part of it
        packets, cycles = play()
        best = min(best, time.process_time() - began)
    note = f"{packets / best:,.0f} packets/s"
    details = {"packets": packets, "packets_per_s": packets / best}
    return Row(name, cycles / best, "cycles/s", "RTL under Verilator", RTL_CYCLES_PER_S, note, details)


def _ceilings() -> list[Row]:
    """Bandwidth of 512 cores by element type and cost table, next to the ceiling of that table: what the cores would do
    if they only added, or the links. Only float32's 4 cycles are the paper's figure."""
    from pspin_model.flare.config import Reduction
    from pspin_model.flare.models.dense import LINE_RATE_GBPS, ceiling_gbps
    from pspin_model.flare.models.settings import add_cycles
    from pspin_model.machine.costs import TABLES

    rows = []
    for costs, dtype in [*(("flare", each) for each in ("float32", "int16", "int8")), ("flare-remembered", "int8")]:
        outcome = _flare(1024 * KIB, "single", costs, dtype=dtype)
        cycles = add_cycles(Reduction(1024 * KIB, algorithm="single", dtype=dtype), TABLES[costs])
        elements = outcome.bandwidth_gbps / 8 / TYPE_BYTES[dtype]
        details = {"type": dtype, "costs": costs, "exact": outcome.exact, "elements_per_ns": elements}
        name, ceiling = f"reduction of 1 MiB, {dtype}, costs {costs}", ceiling_gbps(512, KIB, cycles, LINE_RATE_GBPS)
        note = f"{elements:,.0f} elements/ns"
        rows.append(Row(name, outcome.bandwidth_gbps, "Gbit/s", "the table's ceiling", ceiling, note, details))
    return rows


def _crossovers() -> list[Row]:
    """The algorithm that the paper chooses by size: below 128 KiB a tree, from 512 KiB on one buffer, several between.
    The baseline is the fastest one."""
    from pspin_model.flare.models.dense import Algorithm, choose_algorithm

    rows = []
    for size in (64, 96, 128, 256, 512):
        rates = {algorithm.value: _flare(size * KIB, algorithm.value).bandwidth_gbps for algorithm in Algorithm}
        chosen = choose_algorithm(size * KIB, reproducible=False).value
        name = f"reduction of {size} KiB, {chosen} (the paper's choice)"
        rows.append(Row(name, rates[chosen], "Gbit/s", "the best algorithm", max(rates.values()), details=rates))
    return rows


def _staggering() -> Row:
    """Gain of a single buffer where children start at different blocks."""
    staggered, together = (_flare(512 * KIB, "single", staggered=each).bandwidth_gbps for each in (True, False))
    return Row("reduction of 512 KiB, one buffer, staggered", staggered, "Gbit/s", "not staggered", together)
