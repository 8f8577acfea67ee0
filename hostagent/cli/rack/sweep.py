"""When a hierarchy of rack servers pays: the model's lines, next to steps simulated in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hostagent.lab.rack_network import Rates
from hostagent.lab.racks import FLAT, SCHEMES, Step, play
from hostagent.rackserver.cost_model import (
    Answers,
    Cluster,
    flat_bytes,
    flat_time_s,
    hierarchical_bytes,
    hierarchical_time_s,
    switch_over_bps,
)

ANSWERS = Answers.COPIES
"""What the flat scheme is played with: every worker is sent its own copy."""
FORMULAS = {scheme: "2n(r-1)M/r" if scheme == FLAT else "2(r-1)M/r" for scheme in SCHEMES}
POINTS = 6
STEPS_BELOW = 3
"""Uplinks are played from 2^-3 of the switch-over to 2^2 of it, each twice the one before."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is swept."""

    racks: int
    workers: int
    worker_gbit: float
    server_gbit: float
    chunks: int
    lanes: int

    @property
    def cluster(self) -> Cluster:
        """The model's, but for the uplink; M is that of the frames on the wire."""
        step = self.step(FLAT, 1.0)
        rates = (1e9 * self.worker_gbit, 1e9 * self.server_gbit, 1e9)
        return Cluster(step.frame_bits / 8, self.racks, self.workers, *rates)

    def step(self, scheme: str, uplink_gbit: float) -> Step:
        rates = Rates(*(round(1e9 * gbit) for gbit in (self.worker_gbit, self.server_gbit, uplink_gbit)))
        return Step(scheme, self.racks, self.workers, self.chunks, rates, self.lanes)

    @property
    def uplinks_gbit(self) -> list[float]:
        at = switch_over_bps(self.cluster, ANSWERS) / 1e9 or self.worker_gbit
        return [at * 2.0 ** (point - STEPS_BELOW) for point in range(POINTS)]


@dataclass(frozen=True, slots=True)
class Point:
    """One simulated step, and the model's prediction of it."""

    scheme: str
    uplink_gbit: float
    time_ms: float
    model_ms: float
    crossed_bytes: int
    """Bytes of lanes out of each rack: the most of any."""
    formula: str
    """What ``formula_bytes`` is: of a model of M bytes, n workers in each of r racks. The published formula of the flat
    scheme is half of this one: it leaves out that a rack's server answers the other racks' workers as well."""
    formula_bytes: int
    right: bool


def model_ms(scheme: str, cluster: Cluster) -> float:
    """The model's prediction for a scheme."""
    return 1e3 * (flat_time_s(cluster, ANSWERS) if scheme == FLAT else hierarchical_time_s(cluster))


def play_all(sweep: Sweep) -> Iterator[Point]:
    """Every scheme at every uplink."""
    for uplink_gbit in sweep.uplinks_gbit:
        cluster = replace(sweep.cluster, uplink_bps=1e9 * uplink_gbit)
        for scheme in SCHEMES:
            step = sweep.step(scheme, uplink_gbit)
            outcome = play(step)
            data = replace(cluster, model_bytes=step.data_bytes)
            formula = flat_bytes(data, ANSWERS) if scheme == FLAT else hierarchical_bytes(data)
            yield Point(
                scheme,
                uplink_gbit,
                outcome.time_ns / 1e6,
                model_ms(scheme, cluster),
                max(outcome.crossed_bytes),
                FORMULAS[scheme],
                round(formula),
                outcome.complete,
            )


def as_json(sweep: Sweep, points: list[Point]) -> dict[str, Any]:
    """Sweep and points for scripts."""
    return {
        "sweep": asdict(sweep),
        "model_bytes": sweep.step(FLAT, 1.0).data_bytes,
        "switch_over_gbit": switch_over_bps(sweep.cluster, ANSWERS) / 1e9,
        "switch_over_without_answers_gbit": switch_over_bps(sweep.cluster) / 1e9,
        "points": [asdict(point) for point in points],
    }


COLOURS = {FLAT: "#d97706", "ring": "#0f766e", "sharded": "#4338ca"}
MARKS = {FLAT: "s", "ring": "o", "sharded": "x"}


def draw(sweep: Sweep, points: list[Point], path: Path) -> None:
    """The model's lines, the played steps as marks, and both switch-overs, into an SVG or PNG file."""
    import matplotlib

    matplotlib.use("agg")
    import numpy as np
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.8))
    uplinks = np.geomspace(sweep.uplinks_gbit[0], sweep.uplinks_gbit[-1], 200)
    clusters = [replace(sweep.cluster, uplink_bps=1e9 * gbit) for gbit in uplinks]
    for scheme, name in ((FLAT, "flat"), ("ring", "hierarchical")):
        times = [model_ms(scheme, cluster) for cluster in clusters]
        axes.plot(uplinks, times, color=COLOURS[scheme], linewidth=1.4, label=f"model, {name}")
    published = [1e3 * flat_time_s(cluster) for cluster in clusters]
    axes.plot(uplinks, published, color=COLOURS[FLAT], linewidth=1, linestyle=":", label="model, flat without answers")
    for scheme in SCHEMES:
        played = [point for point in points if point.scheme == scheme]
        at = [point.uplink_gbit for point in played]
        times = [point.time_ms for point in played]
        axes.plot(at, times, MARKS[scheme], color=COLOURS[scheme], fillstyle="none", label=f"played, {scheme}")
    for answers, style, name in (
        (ANSWERS, "--", "switch-over"),
        (Answers.LEFT_OUT, ":", "switch-over without answers"),
    ):
        limit = switch_over_bps(sweep.cluster, answers) / 1e9
        if uplinks[0] <= limit <= uplinks[-1]:
            axes.axvline(limit, color="#94a3b8", linewidth=1, linestyle=style, label=name)
            axes.annotate(f" {limit:g} Gbit/s", (limit, axes.get_ylim()[1]), va="top", fontsize=8, color="#475569")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sweep.uplinks_gbit, [f"{gbit:g}" for gbit in sweep.uplinks_gbit])
    axes.set_yticks(ticks := _ticks(axes.get_ylim()), [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("uplink of a rack, Gbit/s")
    axes.set_ylabel("time of a step, ms")
    axes.set_title(
        f"{sweep.racks} racks of {sweep.workers} workers at {sweep.worker_gbit:g} Gbit/s: "
        "left of the dashed line a hierarchy pays",
        loc="left",
        fontsize=11,
        fontweight="bold",
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, bbox_inches="tight", dpi=150)
    pyplot.close(figure)


def _ticks(limits: tuple[float, float]) -> list[float]:
    """1, 2 and 5 times powers of ten."""
    candidates = [factor * 10.0**power for power in range(-6, 7) for factor in (1, 2, 5)]
    return [tick for tick in candidates if limits[0] <= tick <= limits[1]]
