"""Ranks of a benchmark: started on our backend or on gloo, heard through one line of JSON from rank 0."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TIMEOUT_S = 600
MARK = "BENCH "
"""What the line begins with that holds the result."""


class BenchError(Exception):
    """A run failed; the text holds the end of its output."""


def tell(result: Mapping[str, Any]) -> None:
    """Of rank 0, to `run_ranks`."""
    print(MARK + json.dumps(result), flush=True)


def run_ranks(
    ranks: int, script: Path, options: Sequence[str], ours: Sequence[str] | None, environment: Mapping[str, str]
) -> dict[str, Any]:
    """What rank 0 told. ``ours``: further options of ``netsum run``; None for torchrun. Raises BenchError."""
    if ours is not None:
        launch = [sys.executable, "-m", "hostagent.cli.main", "run", "-n", str(ranks), *ours]
    else:
        launch = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}"]
    command = [*launch, str(script), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=dict(environment))
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            result: dict[str, Any] = json.loads(line.removeprefix(MARK))
            return result
    raise BenchError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
