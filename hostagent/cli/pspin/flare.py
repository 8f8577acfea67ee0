"""``netsum pspin run`` and ``netsum pspin sweep``: Flare's reductions on the model of a PsPIN switch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import argument, command, integer, number, option, repeated, switchable
from hostagent.cli.pspin import mistakes
from hostagent.cli.sweeps import SWEEP, with_progress

PICTURES = (".png", ".svg", ".pdf")
PLOT = option("--plot", metavar="FILE", type=Path, help="Picture to draw: .png, .svg or .pdf.")
CSV = option("--csv", metavar="FILE", type=Path, help="CSV file for the rows.")


@command(
    argument("config", type=Path, help="TOML file with [machine], [[reduction]]s and, for several switches, [tree]."),
    PLOT,
    CSV,
    AS_JSON,
    mistakes=mistakes,
)
def run(config: Path, *, plot: Path | None = None, csv: Path | None = None, as_json: bool = False) -> int:
    """Simulate reductions on the model of a PsPIN switch: bandwidth, latency, core use, memory, next to the cost model.

    The exit status is 1 if a result is wrong or every reduction was refused, and 2 if CONFIG is invalid.

    Example:
      netsum pspin run flare.toml --plot flare.png
    """
    from pspin_model.compile_notice import print_compile_notice
    from pspin_model.flare.config import read_config
    from pspin_model.flare.study.simulate import simulate

    print_compile_notice()
    _check_outputs(plot, csv)
    # modules of the user's own types and operators
    sys.path[:0] = [str(config.absolute().parent), str(Path.cwd())]
    given = read_config(config)
    if given.tree is not None:
        return _run_tree(given, plot, csv, as_json)
    report = simulate(given)
    if as_json:
        print(_json(report.as_json()))
    else:
        from hostagent.cli.pspin.tables import show_report

        show_report(report)
    if csv is not None:
        csv.write_text(_csv_of(report))
    if plot is not None and report.run is not None:
        from pspin_model.flare.study.plots import plot_report

        plot_report(report, plot)
    return _status(report.outcomes)


def _run_tree(config: Any, plot: Path | None, csv: Path | None, as_json: bool) -> int:
    """Trees of switches: a line for each reduction, and one for each of its levels."""
    from emulator.sweep import as_csv
    from hostagent.cli.pspin.tables import show_trees
    from hostagent.launch.terminal import wide_console
    from pspin_model.flare.study.tree_report import level_rows, reduce_in_time

    outcome = reduce_in_time(config, config.tree)
    if as_json:
        print(_json(outcome.as_json()))
    else:
        show_trees(wide_console(), outcome)
    if csv is not None:
        csv.write_text(as_csv(level_rows(outcome.reports)))
    if plot is not None and any(report.levels for report in outcome.reports):
        from pspin_model.flare.study.plots_tree import plot_tree

        plot_tree(outcome, plot)
    return _status(outcome.reports)


def _status(reports: Sequence[Any]) -> int:
    """The exit status: 1 if nothing ran, or a result is wrong."""
    ran = [report for report in reports if not report.refused]
    return 0 if ran and all(report.exact for report in ran) else 1


@command(
    repeated("--size", metavar="SIZE", help="Message size of a child. Repeatable. Default: 32KiB to 2MiB."),
    repeated(
        "-a",
        "--algorithm",
        metavar="NAME",
        help="Algorithm: single, multi or tree. Repeatable. Default: all; for sparse blocks single.",
    ),
    repeated("--cores", metavar="N", type=integer(), help="Number of cores, 8 in a cluster. Repeatable."),
    repeated("--children", metavar="N", type=integer(), help="Number of children that send. Repeatable."),
    repeated("--density", metavar="F", type=number(), help="Fraction of non-zeros (sparse mode). Repeatable."),
    repeated("--storage", metavar="NAME", help="Storage of sparse blocks: array or hash. Repeatable. Default: both."),
    option("--entries", metavar="N", type=integer(0), help="Entries of a block's hash table; 0: as in Flare, by type."),
    option(
        "--type",
        dest="dtype",
        metavar="TYPE",
        help="Element type: int8, int16, int32, float16, float32 or module:name.",
    ),
    option("--operator", metavar="NAME", help="Reduction operator: sum, min, max, product or module:function."),
    option(
        "--costs",
        metavar="NAME",
        help="Cost table: flare (the paper's float32, narrow types packed), flare-remembered, rtl (measured).",
    ),
    option("--cores-per-block", metavar="N", type=integer(1), help="Cores that may work on a block."),
    option("--buffers", metavar="N", type=integer(1, 62), help="Buffers of a block, for multi."),
    switchable("--staggered", help="Different start offsets of the children in the message."),
    PLOT,
    *SWEEP,
    AS_JSON,
    mistakes=mistakes,
)
def sweep(
    *,
    size: list[str] | None = None,
    algorithm: list[str] | None = None,
    cores: list[int] | None = None,
    children: list[int] | None = None,
    density: list[float] | None = None,
    storage: list[str] | None = None,
    entries: int = 0,
    dtype: str = "float32",
    operator: str = "sum",
    costs: str = "flare",
    cores_per_block: int = 8,
    buffers: int = 4,
    staggered: bool = True,
    plot: Path | None = None,
    csv: Path | None = None,
    workers: int | None = None,
    dask: str = "",
    as_json: bool = False,
) -> int:
    """Simulate a grid of reductions, size x algorithm x cores x children, or sparse ones, size x storage x density x
    cores x children; the table shows simulation and model, and explains deviations.

    Examples:
      netsum pspin sweep --size 64KiB --size 1MiB --cores 512 --plot sweep.png
      netsum pspin sweep --density 0.001 --density 0.01 --plot sparse.png
      netsum pspin sweep --cores 256 --cores 512 --csv rows.csv --dask HOST:8786
    """
    from pspin_model.flare.config import Reduction, parse_bytes
    from pspin_model.flare.study.sweep import grid, run_points, settings_of, sparse_grid
    from pspin_model.machine.config import ConfigError

    _check_outputs(plot, csv)
    sys.path.insert(0, str(Path.cwd()))  # modules of the user's own types and operators
    sizes = [parse_bytes(text) for text in size or ("32KiB", "128KiB", "512KiB", "2MiB")]
    base = Reduction(
        sizes[0],
        dtype=dtype,
        operator=operator,
        cores_per_block=cores_per_block,
        buffers=buffers,
        staggered=staggered,
        entries=entries,
    )
    shape = (cores or [512], children or [64], base, costs)
    if not density and (storage or entries):
        raise ConfigError("--storage and --entries apply to sparse reductions only: give a --density too")
    if density:
        points = sparse_grid(sizes, storage or ["array", "hash"], density, *shape, algorithm or ["single"])
    else:
        points = grid(sizes, algorithm or ["single", "multi", "tree"], *shape)
    rows = with_progress(len(points), lambda done: run_points(points, file=csv, workers=workers, dask=dask, done=done))
    if as_json:
        print(_json({**settings_of(points[0]), "rows": rows}))
    else:
        from hostagent.cli.pspin.tables import show_rows, show_sparse_rows

        (show_sparse_rows if density else show_rows)(rows)
    if plot is not None:
        _plot_rows(rows, plot, buffers, sparse=bool(density))
    return 0


def _plot_rows(rows: Any, plot: Path, buffers: int, *, sparse: bool) -> None:
    from pspin_model.flare.study.plots import plot_sweep
    from pspin_model.flare.study.plots_sparse import plot_sparse_sweep

    if sparse:
        plot_sparse_sweep(rows, plot)
    else:
        plot_sweep(rows, plot, buffers)


def _check_outputs(plot: Path | None, csv: Path | None) -> None:
    """Refuse files that cannot be written before anything is simulated."""
    from pspin_model.machine.config import ConfigError

    if plot is not None and plot.suffix not in PICTURES:
        raise ConfigError(f"--plot {plot}: use a name that ends in {', '.join(PICTURES)}")
    for name, path in (("--plot", plot), ("--csv", csv)):
        if path is not None and not path.absolute().parent.is_dir():
            raise ConfigError(f"{name} {path}: there is no folder {path.absolute().parent}")


def _json(value: Any) -> str:
    import json

    return json.dumps(value, indent=1)


def _csv_of(report: Any) -> str:
    from dataclasses import asdict

    from emulator.sweep import as_csv

    rows = []
    for outcome in report.outcomes:
        row = asdict(outcome)
        model, sparse = row.pop("model") or {}, row.pop("sparse") or {}
        rows.append({**row, **sparse, **{f"model_{name}": value for name, value in model.items()}})
    return as_csv(rows)
