"""What all benchmarks share: rows with a baseline from the same run, one table, one JSON form, the machine's facts.

A benchmark is a module with ``measure(...) -> Report``.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


class BenchError(Exception):
    """A benchmark could not be run, or its result is wrong; the text says why."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure."""

    name: str
    value: float
    unit: str
    """Where it ends in ``/s`` larger is better, otherwise smaller."""
    baseline: str = ""
    """Name of what was measured in the same run, or of a published figure; empty: there is none."""
    baseline_value: float | None = None
    note: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    """More about the figure, for the JSON form."""

    @property
    def ratio(self) -> float | None:
        """How many times as good as the baseline."""
        if not self.baseline_value:
            return None
        is_rate = self.unit.endswith("/s")
        return self.value / self.baseline_value if is_rate else self.baseline_value / self.value


@dataclass(frozen=True, slots=True)
class Report:
    """The rows of a benchmark."""

    benchmark: str
    title: str
    rows: Sequence[Row]
    seed: int | None = None
    """Seed of everything random; None: nothing is."""
    remarks: Sequence[str] = ()
    """Lines below the table."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the run, and single measurements, for the JSON form."""

    def as_json(self) -> dict[str, Any]:
        """The same form for every benchmark."""
        rows = [{**asdict(row), "ratio": row.ratio} for row in self.rows]
        return {**asdict(self), "rows": rows, "machine": machine_facts()}


def run_benchmark(name: str, measure: Callable[[], Report], as_json: bool) -> int:
    """Measure and print; the exit status of ``netsum bench NAME``."""
    try:
        report = measure()
    except BenchError as error:
        print(f"netsum bench {name}: {error}", file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps(report.as_json()))
    else:
        print_report(report)
    return 0


def print_report(report: Report) -> None:
    """Print the table."""
    from hostagent.launch.terminal import print_table, wide_console

    rows = []
    for row in report.rows:
        baseline = "" if row.baseline_value is None else f"{_figure(row.baseline_value)} {row.unit}"
        ratio = "" if row.ratio is None else f"{row.ratio:,.2f}x" if row.ratio >= 0.1 else f"{row.ratio:.2g}x"
        rows.append((row.name, f"{_figure(row.value)} {row.unit}", baseline, row.baseline, ratio, row.note))
    console = wide_console()
    print_table(("what", ">figure", ">baseline", "", ">ratio", "note"), rows, title=report.title, console=console)
    for line in report.remarks:
        console.print(line, highlight=False, soft_wrap=True)


def _figure(value: float) -> str:
    """Three digits, or all of those before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


# --- The machine --------------------------------------------------------------------------------------------------


def cpu_name() -> str:
    """As the kernel names it, else the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def commit() -> str:
    """The checkout's commit, with + when it has changes; empty outside a checkout."""
    folder = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"], cwd=folder, capture_output=True, text=True
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def machine_facts() -> dict[str, str]:
    """CPU, cores usable by this process, kernel, versions, commit."""
    import llvmlite
    import numba
    import numpy
    import torch

    return {
        "cpu": cpu_name(),
        "cores": str(len(os.sched_getaffinity(0))),
        "kernel": platform.release().partition("-")[0],
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": numpy.__version__,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "commit": commit(),
    }
