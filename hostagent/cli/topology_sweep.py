"""``netsum topology sweep``: many simulated allreduces, a row each."""

from __future__ import annotations

import json
import statistics
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import UsageError, argument, command, integer, number, repeated
from hostagent.cli.sweeps import SWEEP, with_progress
from hostagent.cli.topology_simulate import check_job, parse_elements

if TYPE_CHECKING:
    from emulator.sweep import Row

SHOWN = ("topology", "hosts", "size_bytes", "lanes", "window", "loss")
"""Columns of the table: rows that differ by the seed alone are a line."""


def _mistakes() -> tuple[type[Exception], ...]:
    from emulator.network.topology.parts import TopologyError
    from emulator.sweep import SweepError

    return TopologyError, SweepError


@command(
    argument("files", metavar="FILE", nargs="+", type=Path, help="Topology files, YAML or JSON."),
    repeated("--size", metavar="SIZE", help="Tensor of each host, of float32. Repeatable. Default: 1MB."),
    repeated("--hosts", type=integer(2), metavar="N", help="Number of hosts that take part. Repeatable. Default: all."),
    repeated("--lanes", type=integer(), metavar="N", help="Integers in a frame. Repeatable. Default: 256."),
    repeated("--window", type=integer(1, 2048), metavar="N", help="Slots of the job. Repeatable. Default: 128."),
    repeated("--loss", type=number(0), metavar="P", help="Probability that a link loses a frame. Repeatable."),
    repeated("--seed", type=integer(0), metavar="N", help="Seed of the losses. Repeatable. Default: 1."),
    *SWEEP,
    AS_JSON,
    mistakes=_mistakes,
)
def sweep(
    files: list[Path],
    *,
    size: list[str] | None = None,
    hosts: list[int] | None = None,
    lanes: list[int] | None = None,
    window: list[int] | None = None,
    loss: list[float] | None = None,
    seed: list[int] | None = None,
    csv: Path | None = None,
    workers: int | None = None,
    dask: str = "",
    as_json: bool = False,
) -> int:
    """Simulate an allreduce at every combination of the values, as `netsum topology simulate` does one; a CSV row for
    each as they come, and a table of medians and ranges over the seeds.

    Examples:
      netsum topology sweep net.yaml --loss 0 --loss 0.01 --seed 1 --seed 2
      netsum topology sweep star.yaml tree.yaml --size 1MB --size 16MB \\
        --csv rows.csv
    """
    from emulator.network.topology.files import read_topology
    from emulator.sweep import run_all
    from hostagent.lab.network_sweep import ELEMENT_BYTES, grid, key_of, run_point

    sizes = [ELEMENT_BYTES * parse_elements(text) for text in size or ["1MB"]]
    lanes, windows, losses = lanes or [256], window or [128], loss or [0.0]
    for job in product(lanes, windows, losses):
        check_job(*job)
    topologies = [read_topology(file) for file in files]
    if len({topology.name for topology in topologies}) < len(topologies):
        raise UsageError(
            "two topologies have one name, so their rows could not be told apart; change the name in one of the files"
        )
    points = grid(topologies, hosts or [], sizes, lanes, windows, losses, seed or [1])
    rows = with_progress(
        len(points),
        lambda done: run_all(run_point, points, key=key_of, file=csv, workers=workers, dask=dask, done=done),
    )
    if as_json:
        print(json.dumps(rows))
    else:
        _print(rows)
    return 0


def _print(rows: list[Row]) -> None:
    from hostagent.launch.terminal import print_table

    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in SHOWN), []).append(row)
    lines = []
    for (topology, hosts, size_bytes, lanes, window, loss), group in groups.items():
        times = [row["elapsed_ms"] for row in group]
        median_ms = statistics.median(times)
        cells = [topology, str(hosts), f"{size_bytes:,}", str(lanes), str(window), f"{loss:g}", str(len(group))]
        cells += [f"{median_ms:,.3f}", f"{min(times):,.3f}", f"{max(times):,.3f}"]
        cells += [f"{8e-3 * size_bytes / median_ms:,.1f}"]
        cells += [f"{statistics.median(row['retransmissions'] for row in group):,g}"]
        lines.append(cells)
    columns = ("topology", ">hosts", ">bytes", ">lanes", ">window", ">loss", ">seeds", ">median ms", ">least", ">most")
    print_table((*columns, ">Mbit/s", ">retransmissions"), lines)
