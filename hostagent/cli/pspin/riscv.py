"""``netsum pspin riscv``: handlers in C, instruction by instruction, beside their Python twins."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from hostagent.cli.options import AsJson
from hostagent.cli.pspin.example import show


def riscv(
    name: Annotated[str | None, typer.Argument(help="Which handler; default: all.")] = None,
    size: Annotated[int, typer.Option(min=64, max=2048, help="Bytes of the packet.")] = 1024,
    as_json: AsJson = False,
) -> None:
    """Compile C handlers for the cores, run them instruction by instruction, and compare with their Python twins.

    \b
    Example:
      netsum pspin riscv aggregate --size 1024
    """
    from pspin_model.riscv.toolchain import ToolchainError
    from pspin_model.riscv.twins import TWINS, compare_twin

    if name is not None and name not in TWINS:
        raise typer.BadParameter(f"no handler {name!r}; there are {', '.join(TWINS)}")
    try:
        twins = [compare_twin(each, size) for each in ([name] if name else TWINS)]
    except ToolchainError as error:
        typer.echo(f"netsum pspin riscv: {error}", err=True)
        raise typer.Exit(1) from None
    rows: list[dict[str, object]] = [
        {
            "handler": twin.name,
            "bytes": twin.size_bytes,
            "same result": twin.same_result,
            "C instructions": twin.c.instructions,
            "C cycles": twin.c.cycles,
            "Python instructions": twin.python_instructions,
            "Python cycles": twin.python_cycles,
        }
        for twin in twins
    ]
    if as_json:
        print(json.dumps(rows))
        return
    show(rows, "handlers in C (rv32ima, gcc -O2) and in Python, undisturbed")
