"""The report in the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from hostagent.cli.demo.figures import Report, Training


def _spark(values: list[float], width: int = 40) -> str:
    """A curve in one line of block characters, from the lowest value to the highest."""
    blocks = "▁▂▃▄▅▆▇█"
    count = min(width, len(values))
    picked = [values[i * (len(values) - 1) // max(1, count - 1)] for i in range(count)]
    low, high = min(picked), max(picked)
    span = (high - low) or 1.0
    return "".join(blocks[min(7, int(8 * (value - low) / span))] for value in picked)


def _trainings(report: Report) -> Table:
    table = Table(title="The same training, twice", title_justify="left")
    table.add_column("summed by")
    for name in ("first loss", "last loss", "accuracy", "ms/step"):
        table.add_column(name, justify="right")
    table.add_column("loss")

    def row(name: str, run: Training) -> None:
        figures = (f"{run.losses[0]:.5f}", f"{run.losses[-1]:.5f}", f"{run.accuracy:.1%}", f"{run.median_step_ms:.1f}")
        table.add_row(name, *figures, _spark(run.losses, 24))

    row("P4 switch", report.netsum)
    row("gloo", report.gloo)
    return table


def _ports(report: Report) -> Table:
    table = Table(title="Ports of the switch", title_justify="left")
    for name in ("port", "frames in", "MB in", "frames out", "MB out", "drops"):
        table.add_column(name, justify="right")
    for port in report.network.ports:
        table.add_row(
            str(port.number),
            f"{port.frames_in:,}",
            f"{port.bytes_in / 1e6:.1f}",
            f"{port.frames_out:,}",
            f"{port.bytes_out / 1e6:.1f}",
            f"{port.drops:,}",
        )
    return table


def _aggregation(report: Report) -> Table:
    verdicts, ranks = report.network.verdicts, report.network.ranks
    table = Table(title="Aggregation", title_justify="left", show_header=False)
    table.add_column("")
    table.add_column("", justify="right")
    table.add_row("contributions accepted", f"{verdicts.get('accepted', 0) + verdicts.get('accepted_no_data', 0):,}")
    table.add_row("chunks aggregated", f"{verdicts.get('completed', 0):,}")
    table.add_row("repeats dropped (chunk still incomplete)", f"{verdicts.get('waiting', 0):,}")
    table.add_row("results re-served", f"{verdicts.get('served_again', 0):,}")
    table.add_row("outside the window", f"{verdicts.get('outside_window', 0):,}")
    table.add_row("retransmissions by the ranks", f"{sum(rank.get('retransmissions_sent', 0) for rank in ranks):,}")
    table.add_row("frames refused", f"{sum(report.network.drops.values()):,}")
    return table


def show(report: Report, console: Console) -> None:
    """Print the closing report."""
    console.print()
    for table in (_trainings(report), _ports(report), _aggregation(report)):
        console.print(table)
    for check in report.checks:
        mark = "[green]yes[/green]" if check.passed else "[bold red]NO [/bold red]"
        console.print(f" {mark} {check.name}: {check.detail}", highlight=False)
    console.print()
