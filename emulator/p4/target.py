"""What passes and engines must know of an architecture's externs, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from emulator.p4 import ir


@dataclass(frozen=True, slots=True)
class Target:
    """Names are as in ``CallExtern``: ``hash``, ``register.read``."""

    out_arguments: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Positions of arguments that are places the extern may write."""
    repeatable: frozenset[str] = frozenset()
    """Methods of cell arrays that may stand in a ``Repeat``: a turn's effect stays in its own instance's cell."""
    index_argument: Mapping[str, int] = field(default_factory=dict)
    """Position of the index among the arguments of each of those methods."""
    bit_lists: frozenset[str] = frozenset()
    """Externs that read a list argument as the bits of its items, one after the other."""
    valid_lists: frozenset[str] = frozenset()
    """Those of them that leave out fields of invalid headers."""
    hidden_variables: frozenset[str] = frozenset()
    """Variables that the architecture itself reads after the program wrote them."""

    def read_at_ends(self, program: ir.Program) -> set[str]:
        """Variables that the architecture reads after the program wrote them: its own, and what field lists keep."""
        return {*self.hidden_variables, *(v.name for _, kept in program.field_lists for v in kept)}

    def outs(self, name: str) -> tuple[int, ...]:
        """The out positions of one extern."""
        return self.out_arguments.get(name, ())
