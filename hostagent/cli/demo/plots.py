"""The report's plots, as SVG text to stand in the page."""

from __future__ import annotations

from hostagent.cli.demo.figures import FIRST_STEPS, LOSS_TOLERANCE, Report
from hostagent.cli.pages.plots import NETSUM, axes_of, pairs, svg
from hostagent.cli.pages.plots import OTHER as GLOO


def losses(report: Report) -> str:
    """Both loss curves; gloo's is drawn wide underneath, so that agreement shows as one line in another."""
    figure, axes = axes_of("Training loss", "step", "loss (mean over ranks)")
    axes.plot(report.gloo.losses, color=GLOO, linewidth=4, alpha=0.45, label=f"gloo, {report.gloo.accuracy:.1%}")
    axes.plot(report.netsum.losses, color=NETSUM, linewidth=1.3, label=f"P4 switch, {report.netsum.accuracy:.1%}")
    axes.set_yscale("log")
    axes.legend(frameon=False, title="summed by, test accuracy")
    return svg(figure)


def differences(report: Report) -> str:
    """How far the two losses are apart, step by step, with the bound that the first steps must keep."""
    figure, axes = axes_of("Difference of the losses", "step", "relative difference")
    values = [max(value, 1e-12) for value in report.loss_differences()]
    axes.semilogy(range(1, len(values) + 1), values, color=NETSUM, linewidth=1)
    axes.hlines(LOSS_TOLERANCE, 1, FIRST_STEPS, color="#b91c1c", linewidth=2, label=f"bound, first {FIRST_STEPS} steps")
    axes.legend(frameon=False)
    return svg(figure)


def step_times(report: Report) -> str:
    """Distribution of the time per step of both runs."""
    figure, axes = axes_of("Time per step", "ms", "steps")
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
    return svg(figure)


def ports(report: Report) -> str:
    """Bytes in and out of every port of the switch."""
    found = report.network.ports
    columns = {
        "in: contributions": [port.bytes_in / 1e6 for port in found],
        "out: results": [port.bytes_out / 1e6 for port in found],
    }
    return pairs("Bytes through the switch", "port", "MB", [str(port.number) for port in found], columns)
