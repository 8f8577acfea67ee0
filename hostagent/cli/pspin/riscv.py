"""``netsum pspin riscv``: handlers in C, instruction by instruction, next to their Python versions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hostagent.cli.options import AS_JSON
from hostagent.cli.parsing import argument, command, integer, option
from hostagent.cli.pspin import mistakes
from hostagent.cli.pspin.example import show

if TYPE_CHECKING:
    from pspin_model.riscv.twins import Twin

HEADINGS = {
    "size_bytes": "bytes", "same_result": "same result", "c_instructions": "C instructions", "c_cycles": "C cycles",
    "python_instructions": "Python instructions", "python_cycles": "Python cycles",
}  # fmt: skip


@command(
    argument(
        "handler",
        metavar="NAME|FILE.c",
        nargs="?",
        help="C file of your own, or one of ours: aggregate, reduce, histogram. Default: all of ours.",
    ),
    option(
        "--twin",
        metavar="MODULE:HANDLER",
        help="Python version of the handler; its module is in the folder of the C file or the current one.",
    ),
    option("--size", metavar="BYTES", type=integer(40, 2048), help="Packet size."),
    AS_JSON,
    mistakes=mistakes,
)
def riscv(handler: str | None = None, *, twin: str | None = None, size: int = 1024, as_json: bool = False) -> int:
    """Compile C handlers for the cores, run them instruction by instruction, and compare with their Python versions.

    Both get the same packet and the same memories; what they write there, send, and write to the host must be equal,
    or the exit status is 1.

    Example:
      netsum pspin riscv aggregate --size 1024
      netsum pspin riscv sums.c --twin sums:sums --json
    """
    twins = _compared(handler, twin, size)
    rows = [each.row() for each in twins]
    if as_json:
        print(json.dumps({"rows": rows}))
    else:
        show([_shown(row) for row in rows], "handlers in C (rv32ima, gcc -O2) and in Python, undisturbed")
    return 1 if any(each.same_result is False for each in twins) else 0


def _compared(handler: str | None, twin: str | None, size: int) -> list[Twin]:
    """Every handler asked for, run."""
    from pspin_model.riscv.handler import c_handler
    from pspin_model.riscv.twins import TWINS, TwinError, compare, compare_twin, python_handler

    if handler is None or handler in TWINS:
        if twin is not None:
            raise TwinError("--twin is for a C file of your own; ours have theirs")
        return [compare_twin(each, size) for each in ([handler] if handler else TWINS)]
    source = Path(handler)
    if source.suffix != ".c":
        raise TwinError(f"no handler {handler!r}: a C file (NAME.c), or one of {', '.join(TWINS)}")
    sys.path[:0] = [str(source.absolute().parent), str(Path.cwd())]
    return [compare(c_handler(source), None if twin is None else python_handler(twin), size)]


def _shown(row: dict[str, object]) -> dict[str, object]:
    return {HEADINGS.get(key, key): "-" if value is None else value for key, value in row.items()}
