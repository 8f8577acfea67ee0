"""``netsum pspin run`` and ``netsum pspin sweep``: Flare's reductions on the model of a PsPIN switch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hostagent.cli.options import AsJson

PAIRS = (
    (("bandwidth_gbps", "model_gbps"), 1),
    (("service_cycles", "model_service_cycles"), 1),
    (("latency_cycles", "model_latency_cycles"), 1000),
    (("working_bytes", "model_working_bytes"), 1024),
)
"""A sweep's figures and the model's, and what they are divided by in the table."""
SPARSE_PAIRS = ((("dense_gbps", "model_dense_gbps"), 1), *PAIRS[1:3])

WIDE = 260
PICTURES = (".png", ".svg", ".pdf")
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Also draw it: a .png, .svg or .pdf file.")]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Also write the rows as CSV.")]


def run(
    config: Annotated[
        Path,
        typer.Argument(metavar="CONFIG", help="TOML with [machine], [[reduction]]s and, for several switches, [tree]."),
    ],
    plot: Plot = None,
    csv: Csv = None,
    as_json: AsJson = False,
) -> None:
    """Simulate reductions on the model of a PsPIN switch: bandwidth, latency, core use, memory; the cost model beside.

    Exits with 1 if a result is wrong or every reduction was refused, and with 2 if CONFIG cannot be.

    \b
    Example:
      netsum pspin run flare.toml --plot flare.png
    """
    from pspin_model.flare.compiling import tell_compiling
    from pspin_model.flare.config import read_config
    from pspin_model.flare.simulate import simulate

    tell_compiling()
    _check_outputs(plot, csv)
    # modules of the user's own types and operators
    sys.path[:0] = [str(config.absolute().parent), str(Path.cwd())]
    given = read_config(config)
    if given.tree is not None:
        _run_tree(given, plot, csv, as_json)
        return
    report = simulate(given)
    if as_json:
        typer.echo(_json(report.as_json()))
    else:
        _show_report(report)
    if csv is not None:
        csv.write_text(_csv_of(report))
    if plot is not None and report.run is not None:
        from pspin_model.flare.plots import plot_report

        plot_report(report, plot)
    _exit(report.outcomes)


def _run_tree(config: Any, plot: Path | None, csv: Path | None, as_json: bool) -> None:
    """Trees of switches: a line for each reduction, and one for each of its levels."""
    from hostagent.cli.pspin.tree_tables import show_trees
    from pspin_model.flare.sweep import as_csv
    from pspin_model.flare.tree_report import level_rows, reduce_in_time

    outcome = reduce_in_time(config, config.tree)
    if as_json:
        typer.echo(_json(outcome.as_json()))
    else:
        show_trees(_console(), outcome)
    if csv is not None:
        csv.write_text(as_csv(level_rows(outcome.reports)))
    if plot is not None and any(report.levels for report in outcome.reports):
        from pspin_model.flare.plots_tree import plot_tree

        plot_tree(outcome, plot)
    _exit(outcome.reports)


def _exit(reports: Sequence[Any]) -> None:
    """End with 1 where nothing ran, or a result is not right."""
    ran = [report for report in reports if not report.refused]
    if not ran or not all(report.exact for report in ran):
        raise typer.Exit(1)


def sweep(
    size: Annotated[list[str] | None, typer.Option(help="Message of a child; repeat. Default: 32KiB to 2MiB.")] = None,
    algorithm: Annotated[
        list[str] | None,
        typer.Option("-a", "--algorithm", help="single, multi, tree; repeat. Default: all; of sparse blocks single."),
    ] = None,
    cores: Annotated[list[int] | None, typer.Option(help="Cores, 8 a cluster; repeat.")] = None,
    children: Annotated[list[int] | None, typer.Option(help="Children that send; repeat.")] = None,
    density: Annotated[
        list[float] | None, typer.Option(help="Sparse instead: part of the elements that a child sends; repeat.")
    ] = None,
    storage: Annotated[
        list[str] | None, typer.Option(help="Of sparse blocks: array, hash; repeat. Default: both.")
    ] = None,
    entries: Annotated[int, typer.Option(min=0, help="Of a block's hash table; 0: as Flare's handlers, by type.")] = 0,
    dtype: Annotated[
        str, typer.Option("--type", help="int8, int16, int32, float16, float32, or yours, module:name.")
    ] = "float32",
    operator: Annotated[str, typer.Option(help="sum, min, max, product, or yours, module:function.")] = "sum",
    costs: Annotated[str, typer.Option(help="Cost table: flare (the paper's) or rtl (measured).")] = "flare",
    cores_per_block: Annotated[int, typer.Option(min=1, help="Cores that may work on a block.")] = 8,
    buffers: Annotated[int, typer.Option(min=1, max=62, help="Of a block, for multi.")] = 4,
    staggered: Annotated[bool, typer.Option(help="Each child begins elsewhere in the message.")] = True,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; default: one for each processor.")] = None,
    plot: Plot = None,
    csv: Csv = None,
    as_json: AsJson = False,
) -> None:
    """Simulate size x algorithm x cores x children, the model beside the simulation, and why where they part; or sparse
    reductions, size x storage x density x cores x children.

    \b
    Examples:
      netsum pspin sweep --size 64KiB --size 1MiB --cores 512 --plot sweep.png --csv sweep.csv
      netsum pspin sweep --density 0.001 --density 0.01 --density 0.1 --plot sparse.png
    """
    from pspin_model.flare.config import Reduction, parse_bytes
    from pspin_model.flare.sweep import as_csv, grid, settings_of, sparse_grid
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
        raise ConfigError("--storage and --entries are of sparse reductions: give a --density too")
    if density:
        points = sparse_grid(sizes, storage or ["array", "hash"], density, *shape, algorithm or ["single"])
    else:
        points = grid(sizes, algorithm or ["single", "multi", "tree"], *shape)
    rows = _with_progress(points, workers)
    if as_json:
        typer.echo(_json({**settings_of(points[0]), "rows": rows}))
    else:
        (_show_sparse_rows if density else _show_rows)(rows)
    if csv is not None:
        csv.write_text(as_csv(rows))
    if plot is not None:
        _plot_rows(rows, plot, buffers, sparse=bool(density))


def _plot_rows(rows: Any, plot: Path, buffers: int, *, sparse: bool) -> None:
    from pspin_model.flare.plots import plot_sweep
    from pspin_model.flare.plots_sparse import plot_sparse_sweep

    if sparse:
        plot_sparse_sweep(rows, plot)
    else:
        plot_sweep(rows, plot, buffers)


def _check_outputs(plot: Path | None, csv: Path | None) -> None:
    """Refuse files that cannot be written before anything is simulated."""
    from pspin_model.machine.config import ConfigError

    if plot is not None and plot.suffix not in PICTURES:
        raise ConfigError(f"--plot {plot}: use a name that ends in {', '.join(PICTURES)}")
    for option, path in (("--plot", plot), ("--csv", csv)):
        if path is not None and not path.absolute().parent.is_dir():
            raise ConfigError(f"{option} {path}: there is no folder {path.absolute().parent}")


def _with_progress(points: Any, workers: int | None) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from pspin_model.flare.sweep import run_points

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("simulating", total=len(points))
        return run_points(points, workers=workers, done=lambda _number, _row: progress.advance(task))


def _json(value: Any) -> str:
    import json

    return json.dumps(value, indent=1)


def _csv_of(report: Any) -> str:
    from dataclasses import asdict

    from pspin_model.flare.sweep import as_csv

    rows = []
    for outcome in report.outcomes:
        row = asdict(outcome)
        model, sparse = row.pop("model") or {}, row.pop("sparse") or {}
        rows.append({**row, **sparse, **{f"model_{name}": value for name, value in model.items()}})
    return as_csv(rows)


def _show_report(report: Any) -> None:
    from rich.table import Table

    console = _console()
    table = Table(box=None, pad_edge=False)
    for name in ("reduction", "algorithm", "KiB", "children", "Gbit/s", "model", "µs", "cycles a packet", "block µs",
                 "working KiB", "result"):  # fmt: skip
        table.add_column(name, justify="left" if name in ("reduction", "algorithm", "result") else "right")
    for o in report.outcomes:
        result = "refused" if o.refused else "exact" if o.exact else f"WRONG, {o.faults} faults"
        table.add_row(
            o.name, o.algorithm, _kib(o.message_bytes), str(o.children), f"{o.bandwidth_gbps:,.1f}",
            f"{o.model.bandwidth_gbps:,.1f}" if o.model else "", f"{o.cycles / 1000:,.1f}", f"{o.service_cycles:,.0f}",
            f"{o.block_latency_cycles / 1000:,.1f}", _kib(o.working_peak_bytes), result,
        )  # fmt: skip
    console.print(table)
    for o in report.outcomes:
        if o.refused:
            ring = f"On a ring of the hosts: {o.fallback_cycles / 1000:,.1f} µs or more"
            console.print(f"{o.name}: {o.refused}. {ring}", soft_wrap=True)
    _show_sparse(console, [o for o in report.outcomes if o.sparse])
    if len(report.outcomes) > 1:
        console.print("the model is of each reduction alone")
    console.print(f"cores busy {report.core_use:.1%}; input memory peak {_kib(report.input_peak_bytes)} KiB")
    for text in report.faults[:20]:
        console.print(text)


def _show_sparse(console: Any, outcomes: Any) -> None:
    """What became of the pairs of sparse reductions."""
    from rich.table import Table

    if not outcomes:
        return
    table = Table(box=None, pad_edge=False)
    for name in ("sparse", "density", "of the result", "pairs in", "merged", "spilled", "flushes", "KiB in", "KiB out",
                 "extra KiB", "dense Gbit/s"):  # fmt: skip
        table.add_column(name, justify="left" if name == "sparse" else "right")
    for o in outcomes:
        s = o.sparse
        table.add_row(
            o.name, f"{o.density:.2%}", f"{s.result_density:.2%}", f"{s.pairs_in:,}", f"{s.merged:,}", f"{s.spilled:,}",
            f"{s.flushes:,}", _kib(s.bytes_in), _kib(s.bytes_out), _kib(s.extra_bytes), f"{o.dense_gbps:,.1f}",
        )  # fmt: skip
    console.print(table)


def _show_rows(rows: Any) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("algorithm", "KiB", "cores", "children", "Gbit/s", "model", "service", "model", "block µs", "model",
                 "working KiB", "model", "busy", "why the model parts from it"):  # fmt: skip
        table.add_column(name, justify="left" if name in ("algorithm", "why the model parts from it") else "right")
    for row in rows:
        start = (row["algorithm"], _kib(row["message_bytes"]), str(row["cores"]), str(row["children"]))
        if row["refused"]:
            table.add_row(*start, *[""] * 9, "refused")
            continue
        figures = [_figure(row[name], scale) for pair, scale in PAIRS for name in pair]
        why = row["why"] if row["exact"] else f"WRONG RESULT, {row['faults']} faults"
        table.add_row(*start, *figures, f"{row['core_use']:.0%}", why)
    _print_with_refusals(table, rows)


def _show_sparse_rows(rows: Any) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("storage", "buffers", "density", "KiB", "cores", "children", "dense Gbit/s", "model", "service",
                 "model", "block µs", "model", "of the result", "spilled", "model", "KiB out", "extra KiB", "model",
                 "busy", "why the model parts from it"):  # fmt: skip
        table.add_column(name, justify="left" if name in ("storage", "why the model parts from it") else "right")
    for row in rows:
        start = (row["storage"], str(row["buffers"]), f"{row['density']:.2%}", _kib(row["message_bytes"]),
                 str(row["cores"]), str(row["children"]))  # fmt: skip
        if row["refused"]:
            table.add_row(*start, *[""] * 13, "refused")
            continue
        figures = [_figure(row[name], scale) for pair, scale in SPARSE_PAIRS for name in pair]
        table.add_row(
            *start, *figures, f"{row['result_density']:.1%}", f"{row['spilled']:,}", f"{row['model_spilled']:,.0f}",
            _kib(row["bytes_out"]), _kib(row["extra_bytes"]), _kib(row["model_extra_bytes"]), f"{row['core_use']:.0%}",
            row["why"] if row["exact"] else f"WRONG RESULT, {row['faults']} faults",
        )  # fmt: skip
    _print_with_refusals(table, rows)


def _print_with_refusals(table: Any, rows: Any) -> None:
    """Why rows were refused stands below the table, where a line has room for it."""
    console = _console()
    console.print(table)
    for why in dict.fromkeys(row["refused"] for row in rows if row["refused"]):
        console.print(f"refused: {why}", highlight=False, soft_wrap=True)


def _console() -> Any:
    """Into a file or pipe tables go whole."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=WIDE)


def _figure(value: float | None, scale: float) -> str:
    if value is None:
        return ""
    scaled = value / scale
    return f"{scaled:,.0f}" if scaled >= 100 else f"{scaled:,.1f}"


def _kib(count: float) -> str:
    """Whole KiB, with decimals where there are few."""
    return f"{count / 1024:z,.0f}" if abs(count) >= 10240 or count % 1024 == 0 else f"{count / 1024:z,.2f}"
