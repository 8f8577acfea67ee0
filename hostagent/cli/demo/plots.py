"""The report's plots, as SVG text to stand in the page."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import matplotlib

from hostagent.cli.demo.figures import FIRST_STEPS, LOSS_TOLERANCE, Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

matplotlib.use("svg")
from matplotlib import pyplot

NETSUM, GLOO, FAINT = "#0f766e", "#d97706", "#94a3b8"


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
    return text.getvalue().partition("<svg")[1] + text.getvalue().partition("<svg")[2]


def _axes(title: str, x: str, y: str, width: float = 6.0) -> tuple[Figure, matplotlib.axes.Axes]:
    figure, axes = pyplot.subplots(figsize=(width, 3.2))
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    return figure, axes


def losses(report: Report) -> str:
    """Both loss curves; gloo's is drawn wide underneath, so that agreement shows as one line in another."""
    figure, axes = _axes("Training loss", "step", "loss (mean over ranks)")
    axes.plot(report.gloo.losses, color=GLOO, linewidth=4, alpha=0.45, label=f"gloo, {report.gloo.accuracy:.1%}")
    axes.plot(report.netsum.losses, color=NETSUM, linewidth=1.3, label=f"P4 switch, {report.netsum.accuracy:.1%}")
    axes.set_yscale("log")
    axes.legend(frameon=False, title="summed by, test accuracy")
    return _svg(figure)


def differences(report: Report) -> str:
    """How far the two losses are apart, step by step, with the bound that the first steps must keep."""
    figure, axes = _axes("Difference of the losses", "step", "relative difference")
    values = [max(value, 1e-12) for value in report.loss_differences()]
    axes.semilogy(range(1, len(values) + 1), values, color=NETSUM, linewidth=1)
    axes.hlines(LOSS_TOLERANCE, 1, FIRST_STEPS, color="#b91c1c", linewidth=2, label=f"bound, first {FIRST_STEPS} steps")
    axes.legend(frameon=False)
    return _svg(figure)


def step_times(report: Report) -> str:
    """Distribution of the time per step of both runs."""
    figure, axes = _axes("Time per step", "ms", "steps")
    runs = [(report.netsum, NETSUM, "P4 switch"), (report.gloo, GLOO, "gloo")]
    longest = max(sorted(run.step_s)[int(len(run.step_s) * 0.98)] for run, _, _ in runs) * 1e3
    for run, colour, name in runs:
        label = f"{name}, median {run.median_step_ms:.1f} ms"
        axes.hist(
            [1e3 * s for s in run.step_s],
            bins=40,
            range=(0, longest),
            histtype="stepfilled",
            alpha=0.55,
            color=colour,
            label=label,
        )
    axes.legend(frameon=False)
    return _svg(figure)


def ports(report: Report) -> str:
    """Bytes in and out of every port of the switch."""
    figure, axes = _axes("Bytes through the switch", "port", "MB")
    numbers = range(len(report.network.ports))
    incoming = [port.bytes_in / 1e6 for port in report.network.ports]
    outgoing = [port.bytes_out / 1e6 for port in report.network.ports]
    axes.bar([n - 0.2 for n in numbers], incoming, width=0.4, color=NETSUM, label="in: contributions")
    axes.bar([n + 0.2 for n in numbers], outgoing, width=0.4, color=FAINT, label="out: results")
    axes.set_xticks(list(numbers), [str(port.number) for port in report.network.ports])
    axes.set_ylim(0, 1.25 * max([*incoming, *outgoing, 1e-9]))
    axes.legend(frameon=False, loc="upper center", ncols=2)
    return _svg(figure)
