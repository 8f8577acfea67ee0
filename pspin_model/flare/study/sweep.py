"""Many simulations, on all processors: message size x algorithm x cores x children, or, for sparse
reductions, size x storage x density x cores x children.

A row is plain numbers and text, for JSON and CSV. Points are independent of each other and of the order in which they
are done; rows come back in the points' order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

from emulator.sweep import Row, run_all
from pspin_model.compile_notice import print_compile_notice
from pspin_model.flare.config import FlareConfig, Reduction, cost_table, flare_machine
from pspin_model.flare.models.dense import Algorithm
from pspin_model.flare.models.deviations import explanation
from pspin_model.flare.models.sparse_rate import SparsePrediction
from pspin_model.flare.study.simulate import CYCLE_NS, Outcome, simulate
from pspin_model.machine.config import ConfigError

CORES_PER_CLUSTER = 8
SETTINGS = ("operator", "cores_per_block", "staggered", "packet_bytes", "arrivals", "line_rate_gbps", "seed")
"""Of a reduction, that all points of a sweep have."""


@dataclass(frozen=True, slots=True)
class Point:
    """One simulation of a sweep."""

    reduction: Reduction
    cores: int
    costs: str = "flare"

    def config(self) -> FlareConfig:
        """Raises ConfigError where the cores make no whole clusters."""
        clusters, rest = divmod(self.cores, CORES_PER_CLUSTER)
        if rest or not clusters:
            raise ConfigError(f"{self.cores} cores: use a multiple of {CORES_PER_CLUSTER}, the cores of a cluster")
        return FlareConfig(flare_machine(clusters=clusters), cost_table(self.costs), (self.reduction,))


def grid(
    sizes: Sequence[int],
    algorithms: Sequence[str],
    cores: Sequence[int],
    children: Sequence[int],
    base: Reduction,
    costs: str = "flare",
) -> list[Point]:
    """All combinations. Raises ConfigError for one that cannot be."""
    points = [
        Point(replace(base, message_bytes=size, algorithm=algorithm, children=fan_in), count, costs)
        for count, fan_in, size, algorithm in product(cores, children, sizes, algorithms)
    ]
    for point in points:
        point.config()
    return points


def sparse_grid(
    sizes: Sequence[int],
    storages: Sequence[str],
    densities: Sequence[float],
    cores: Sequence[int],
    children: Sequence[int],
    base: Reduction,
    costs: str = "flare",
    algorithms: Sequence[str] = ("single",),
) -> list[Point]:
    """The same for sparse reductions; ``algorithms``: single, or multi with the base's buffers."""
    if not all(densities):
        raise ConfigError("density = 0: a sparse reduction's is above 0")
    shapes = product(cores, children, sizes, storages, algorithms, densities)
    points = [
        Point(
            replace(base, message_bytes=size, storage=storage, algorithm=algorithm, density=density, children=fan_in),
            count,
            costs,
        )
        for count, fan_in, size, storage, algorithm, density in shapes
    ]
    for point in points:
        point.config()
    return points


def settings_of(point: Point) -> Row:
    """What all points of a sweep have, and their rows do not say."""
    reduction = {name: getattr(point.reduction, name) for name in SETTINGS}
    machine = {"cores_per_cluster": CORES_PER_CLUSTER, "costs": point.costs, "cycle_ns": CYCLE_NS}
    return {"machine": machine, "reduction": reduction}


def run_point(point: Point) -> Row:
    """Simulate one point."""
    print_compile_notice()
    began = time.perf_counter()
    report = simulate(point.config())
    outcome = report.outcomes[0]
    model = outcome.model
    row: Row = {
        "algorithm": outcome.algorithm,
        "refused": outcome.refused,
        "exact": outcome.exact,
        "bandwidth_gbps": round(outcome.bandwidth_gbps, 1),
        "model_gbps": round(model.bandwidth_gbps, 1) if model else None,
        "service_cycles": round(outcome.service_cycles, 1),
        "model_service_cycles": round(model.service_cycles, 1) if model else None,
        "latency_cycles": round(outcome.block_latency_cycles, 1),
        "model_latency_cycles": round(model.latency_cycles, 1) if model else None,
        "working_bytes": round(outcome.working_mean_bytes),
        "model_working_bytes": round(model.working_bytes) if model else None,
        "working_peak_bytes": outcome.working_peak_bytes,
        "input_peak_bytes": report.input_peak_bytes,
        "core_use": round(report.core_use, 4),
        "faults": len(report.faults),
        "packets": outcome.packets,
        "wall_s": round(time.perf_counter() - began, 3),
    }
    if outcome.density:
        row |= _sparse_columns(outcome)
    row["why"] = explanation(_key(point) | row)
    return row


def _sparse_columns(outcome: Outcome) -> Row:
    sparse, model = outcome.sparse, outcome.model
    predicted = {}
    if isinstance(model, SparsePrediction):
        names = ("dense_gbps", "spilled", "bytes_out", "extra_bytes", "result_density")
        predicted = {f"model_{name}": round(getattr(model, name), 4) for name in names}
        predicted |= {"bound": model.bound, "bound_by_a_hair": model.bound_by_a_hair}
    return {
        "dense_gbps": round(outcome.dense_gbps, 1),
        "pairs_per_ns": round(outcome.elements_per_ns, 3),
        **(asdict(sparse) if sparse else {}),
        **predicted,
    }


def run_points(
    points: Sequence[Point],
    *,
    file: Path | None = None,
    workers: int | None = None,
    dask: str = "",
    done: Callable[[int, Row], None] = lambda _number, _row: None,
) -> list[Row]:
    """Simulate all points; the parameters are those of `emulator.sweep.run_all`."""
    return run_all(run_point, points, key=_key, file=file, workers=workers, dask=dask, done=done)


def _key(point: Point) -> Row:
    """The columns that say which point a row is of: all of its parameters."""
    row = {"cores": point.cores, "costs": point.costs, **asdict(point.reduction)}
    row["type"], row["algorithm_asked"] = row.pop("dtype"), row.pop("algorithm")
    if row["algorithm_asked"] in (Algorithm.SINGLE, Algorithm.TREE):
        row["buffers"] = 1
    return row
