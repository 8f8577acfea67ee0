"""The machine's facts that stand beside every measured figure."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path


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
