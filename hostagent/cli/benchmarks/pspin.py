"""``netsum bench pspin``: how fast the model of the PsPIN switch simulates, and what Flare's switch reaches on it."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.table import Table

from hostagent.cli.benchmarks.facts import machine_facts

RTL_CYCLES_PER_S = 250
"""Simulated cycles a second of wall time of the public RTL under Verilator, measured on a machine like ours."""
REPEATS = 3
ECHO_PACKETS = 20_000
KIB = 1024


def measure() -> dict[str, Any]:
    """Simulated packets and cycles a second of wall time, one core, compiled beforehand; best of three."""
    return {
        "speed": [_echo(), _dense()],
        "ceilings": _ceilings(),
        "crossovers": _crossovers(),
        "staggering": _staggering(),
        "machine": machine_facts(),
    }


def _echo() -> dict[str, Any]:
    from pspin_model.examples.run import run_example

    def play() -> tuple[int, int]:
        _, run, _ = run_example("ping_pong", 1, ECHO_PACKETS, KIB, 0)
        return len(run.packets["start"]), run.cycles

    return {"what": "echo, 32 cores, 1 KiB", **_best(play)}


def _dense() -> dict[str, Any]:
    from pspin_model.flare.config import FlareConfig, Reduction, flare_machine
    from pspin_model.flare.study.simulate import simulate
    from pspin_model.machine.costs import FLARE_COSTS

    reduction = Reduction(256 * KIB, algorithm="tree")

    def play() -> tuple[int, int]:
        (outcome,) = simulate(FlareConfig(flare_machine(), FLARE_COSTS, (reduction,))).outcomes
        return outcome.packets, outcome.cycles

    return {"what": "dense reduction, 512 cores, 64 children, 1 KiB", **_best(play)}


def _best(play: Any) -> dict[str, Any]:
    play()
    best, packets, cycles = float("inf"), 0, 0
    for _ in range(REPEATS):
        began = time.process_time()  # others on the machine are no part of it
        packets, cycles = play()
        best = min(best, time.process_time() - began)
    return {
        "packets": packets,
        "packets_per_s": packets / best,
        "cycles_per_s": cycles / best,
        "rtl_cycles_per_s": RTL_CYCLES_PER_S,
        "ratio": cycles / best / RTL_CYCLES_PER_S,
    }


def _ceilings() -> list[dict[str, Any]]:
    """What 512 cores reach, by element type, beside the paper's ceilings."""
    from pspin_model.flare.config import FlareConfig, Reduction, flare_machine
    from pspin_model.flare.models.dense import LINE_RATE_GBPS, ceiling_gbps
    from pspin_model.flare.models.settings import add_cycles
    from pspin_model.flare.study.simulate import simulate
    from pspin_model.machine.costs import FLARE_COSTS

    rows = []
    base = Reduction(1024 * KIB, algorithm="single")
    for dtype in ("float32", "int16", "int8"):
        (outcome,) = simulate(FlareConfig(flare_machine(), FLARE_COSTS, (replace(base, dtype=dtype),))).outcomes
        cycles = add_cycles(replace(base, dtype=dtype), FLARE_COSTS)
        rows.append(
            {
                "type": dtype,
                "gbps": outcome.bandwidth_gbps,
                "paper_gbps": ceiling_gbps(512, KIB, cycles, LINE_RATE_GBPS),
                "exact": outcome.exact,
            }
        )
    return rows


def _crossovers() -> list[dict[str, Any]]:
    """Which algorithm is fastest at what size, beside the paper's choice: below 128 KiB a tree, from 512 KiB on one
    buffer, several between."""
    from pspin_model.flare.models.dense import Algorithm, choose_algorithm

    rows = []
    for size in (64, 96, 128, 256, 512):
        found = {algorithm.value: _gbps(size * KIB, algorithm.value) for algorithm in Algorithm}
        chosen = choose_algorithm(size * KIB, reproducible=False).value
        rows.append(
            {"message_kib": size, **found, "paper": chosen, "part_of_best": found[chosen] / max(found.values())}
        )
    return rows


def _staggering() -> dict[str, float]:
    """What children that begin at different blocks bring a single buffer."""
    staggered, together = (_gbps(512 * KIB, "single", staggered=each) for each in (True, False))
    return {"staggered_gbps": staggered, "together_gbps": together, "gain": staggered / together}


def _gbps(message_bytes: int, algorithm: str, **options: Any) -> float:
    """Of 512 cores with 64 children."""
    from pspin_model.flare.config import FlareConfig, Reduction, flare_machine
    from pspin_model.flare.study.simulate import simulate
    from pspin_model.machine.costs import FLARE_COSTS

    reduction = Reduction(message_bytes, algorithm=algorithm, **options)
    return simulate(FlareConfig(flare_machine(), FLARE_COSTS, (reduction,))).outcomes[0].bandwidth_gbps


def show(result: dict[str, Any], as_json: bool) -> None:
    """Print the tables, or JSON."""
    if as_json:
        print(json.dumps(result))
        return
    console = Console(soft_wrap=True)
    speed = Table(box=None, pad_edge=False)
    for name in ("simulated", "packets/s", "cycles/s", "RTL cycles/s", "ratio"):
        speed.add_column(name, justify="left" if name == "simulated" else "right")
    for row in result["speed"]:
        speed.add_row(
            row["what"], f"{row['packets_per_s']:,.0f}", f"{row['cycles_per_s']:,.0f}",
            f"{row['rtl_cycles_per_s']:,}", f"{row['ratio']:,.0f}",
        )  # fmt: skip
    console.print(speed)
    ceilings = Table(box=None, pad_edge=False)
    for name in ("512 cores, 1 MiB from 64", "Gbit/s", "paper's ceiling", "part of it"):
        ceilings.add_column(name, justify="left" if name.startswith("512") else "right")
    for row in result["ceilings"]:
        part = row["gbps"] / row["paper_gbps"]
        ceilings.add_row(row["type"], f"{row['gbps']:,.0f}", f"{row['paper_gbps']:,.0f}", f"{part:.2f}")
    console.print(ceilings)
    sizes = Table(box=None, pad_edge=False)
    names = ("single", "multi", "tree")
    console.print("Gbit/s of 512 cores with 64 children, by message and algorithm")
    for name in ("KiB", *names, "the paper's", "part of best"):
        sizes.add_column(name, justify="left" if name == "the paper's" else "right")
    for row in result["crossovers"]:
        gbps = (f"{row[name]:,.0f}" for name in names)
        sizes.add_row(str(row["message_kib"]), *gbps, row["paper"], f"{row['part_of_best']:.2f}")
    console.print(sizes)
    s = result["staggering"]
    console.print(
        f"one buffer, 512 KiB: staggered {s['staggered_gbps']:,.0f} Gbit/s, together {s['together_gbps']:,.0f}: "
        f"{s['gain']:.1f} times"
    )
