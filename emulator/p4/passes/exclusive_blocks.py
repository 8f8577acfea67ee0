"""Where in a packet's life each block of statements runs, and which of these places exclude one another.

A place is the way to it through the branches: (number of the statement in its block, arm taken) for each If, Switch and
applied table around it. Two places exclude each other if their ways part in the arms of one statement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from emulator.p4 import ir
from emulator.p4.ir import walk

Step: TypeAlias = tuple[int, int]
AGAIN = -1
"""As an arm: what follows runs more than once."""
MOST_PLACES = 4096
"""Most places of one program: where tables are applied in every branch of actions, no exclusion is claimed."""


@dataclass(slots=True)
class ExclusiveBlocks:
    program: ir.Program
    places: dict[int, list[tuple[Step, ...]]] = field(default_factory=dict)
    """Places by a block's identity; the program keeps the blocks alive."""
    _count: int = 0
    _actions: dict[str, ir.Action] = field(default_factory=dict)
    _tables: dict[str, ir.Table] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._actions = {a.name: a for a in self.program.actions}
        self._tables = {t.name: t for t in self.program.tables}
        for number, (_, root) in enumerate(self.program.blocks):
            if isinstance(root, ir.Control):
                self._visit(root.body, ((number, 0),))
            else:
                for state in root.states:
                    self._visit(state.body, ((number, AGAIN),))

    def _visit(self, block: ir.Block, way: tuple[Step, ...]) -> None:
        self._count += 1
        if self._count > MOST_PLACES:
            return
        self.places.setdefault(id(block), []).append(way)
        for position, statement in enumerate(block):
            if isinstance(statement, ir.ApplyTable):
                for arm, reference in enumerate(self._tables[statement.table].actions):
                    if reference.action in self._actions:
                        self._visit(self._actions[reference.action].body, (*way, (position, arm)))
            branches = isinstance(statement, ir.If | ir.Switch)
            again = isinstance(statement, ir.Loop)
            for arm, nested in enumerate(walk.nested_blocks(statement)):
                self._visit(nested, (*way, (position, AGAIN if again else arm if branches else 0)))

    def at_most_one(self, blocks: set[int]) -> bool:
        """Does at most one of these blocks run in a packet's life, and that at most once?"""
        if self._count > MOST_PLACES:
            return False
        places = [way for block in blocks for way in self.places.get(block, ())]
        return all(AGAIN not in (arm for _, arm in way) for way in places) and all(
            _exclude(a, b) for i, a in enumerate(places) for b in places[i + 1 :]
        )


def _exclude(a: tuple[Step, ...], b: tuple[Step, ...]) -> bool:
    for (position, arm), (other_position, other_arm) in zip(a, b, strict=False):
        if position != other_position:
            return False
        if arm != other_arm:
            return True
    return False
