"""Options of all sweeps, and their progress bar (`emulator.sweep`)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from hostagent.cli.parsing import integer, option

if TYPE_CHECKING:
    from emulator.sweep import Row

SWEEP = (
    option(
        "--csv",
        metavar="FILE",
        type=Path,
        help="CSV file, a row for each run as they come. Runs whose rows it has already are not made again.",
    ),
    option("--workers", metavar="N", type=integer(1), help="Number of processes. Default: one per CPU."),
    option(
        "--dask",
        metavar="HOST:PORT",
        help="Scheduler of a Dask cluster, whose workers (with netsum at this version) make the runs instead.",
    ),
)


def with_progress(runs: int, sweep: Callable[[Callable[[int, Row], None]], list[Row]]) -> list[Row]:
    """The rows of a sweep, which is given what it calls for each row; a bar on a terminal's standard error."""
    from hostagent.launch.terminal import progress

    done = count(1)
    with progress("simulating", runs) as update:
        return sweep(lambda _number, _row: update(completed=next(done)))
