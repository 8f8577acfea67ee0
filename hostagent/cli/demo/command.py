"""``netsum demo``."""

from __future__ import annotations

from pathlib import Path

from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import command, integer, option


@command(
    option("-n", "--nproc", dest="workers", metavar="N", type=integer(2, 16), help="Number of training processes."),
    option("--epochs", metavar="N", type=integer(2), help="Passes over the digits."),
    option("--lanes", metavar="N", type=integer(), help="Integers in a frame."),
    option("-o", "--output", metavar="DIR", type=Path, help="Folder for the report."),
    AS_JSON,
)
def demo(
    *,
    workers: int = 4,
    epochs: int = 20,
    lanes: int = 1024,
    output: Path = Path("netsum-report"),
    as_json: bool = False,
) -> int:
    """Train a small CNN on real digits through the P4 switch, then on gloo, and compare.

    Example:
      netsum demo -n 4
    """
    from hostagent.cli.demo.run import run_demo

    return run_demo(workers=workers, epochs=epochs, lanes=lanes, output=output, as_json=as_json)
