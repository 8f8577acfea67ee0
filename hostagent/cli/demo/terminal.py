"""The report in the terminal."""

from __future__ import annotations

from rich.console import Console

from hostagent.cli.demo.figures import Report
from hostagent.launch.terminal import print_table


def _spark(values: list[float], width: int = 40) -> str:
    """A curve in one line of block characters, from the lowest value to the highest."""
    blocks = "▁▂▃▄▅▆▇█"
    count = min(width, len(values))
    picked = [values[i * (len(values) - 1) // max(1, count - 1)] for i in range(count)]
    low, high = min(picked), max(picked)
    span = (high - low) or 1.0
    return "".join(blocks[min(7, int(8 * (value - low) / span))] for value in picked)


def _trainings(report: Report, console: Console) -> None:
    rows = []
    for name, run in (("P4 switch", report.netsum), ("gloo", report.gloo)):
        figures = (f"{run.losses[0]:.5f}", f"{run.losses[-1]:.5f}", f"{run.accuracy:.1%}", f"{run.median_step_ms:.1f}")
        rows.append((name, *figures, _spark(run.losses, 24)))
    columns = ("summed by", ">first loss", ">last loss", ">accuracy", ">ms/step", "loss")
    print_table(columns, rows, title="The same training, twice", console=console)


def _ports(report: Report, console: Console) -> None:
    rows = [
        (
            str(port.number),
            f"{port.frames_in:,}",
            f"{port.bytes_in / 1e6:.1f}",
            f"{port.frames_out:,}",
            f"{port.bytes_out / 1e6:.1f}",
            f"{port.drops:,}",
        )
        for port in report.network.ports
    ]
    columns = (">port", ">frames in", ">MB in", ">frames out", ">MB out", ">drops")
    print_table(columns, rows, title="Ports of the switch", console=console)


def _aggregation(report: Report, console: Console) -> None:
    verdicts, ranks = report.network.verdicts, report.network.ranks
    counts = {
        "contributions accepted": verdicts.get("accepted", 0) + verdicts.get("accepted_no_data", 0),
        "chunks aggregated": verdicts.get("completed", 0),
        "duplicates dropped (chunk still incomplete)": verdicts.get("waiting", 0),
        "results re-served": verdicts.get("served_again", 0),
        "outside the window": verdicts.get("outside_window", 0),
        "retransmissions by the ranks": sum(rank.get("retransmissions_sent", 0) for rank in ranks),
        "frames refused": sum(report.network.drops.values()),
    }
    rows = [(name, f"{count:,}") for name, count in counts.items()]
    print_table(("", ">"), rows, title="Aggregation", console=console)


def show(report: Report, console: Console) -> None:
    """Print the closing report."""
    for print_part in (_trainings, _ports, _aggregation):
        console.print()
        print_part(report, console)
    console.print()
    for check in report.checks:
        mark = "[green]yes[/green]" if check.passed else "[bold red]NO [/bold red]"
        console.print(f" {mark} {check.name}: {check.detail}", highlight=False)
    console.print()
