"""Examples whose payload handlers are C code, run instruction by instruction for every packet."""

from __future__ import annotations

from dataclasses import replace

from pspin_model.examples.catalogue import EXAMPLES, Part
from pspin_model.riscv.toolchain import ToolchainError
from pspin_model.riscv.twins import TWINS, built_in


def timed_in_c(name: str) -> tuple[Part, ...]:
    """An example's parts with its handler in C. Raises ToolchainError if that cannot be had."""
    if name not in TWINS:
        raise ToolchainError(f"example {name!r} has no handler in C; there are {', '.join(TWINS)}")
    (part,) = EXAMPLES[name]
    return (replace(part, payload=built_in(name)),)
