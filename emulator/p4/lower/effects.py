"""What statements write, so that values read before them are saved only where that could be seen."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.p4 import ir
from emulator.p4.ir import walk
from emulator.p4.lower.storage import Value, roots


class Effects:
    """Remembers what compound statements write: calls within calls ask again for the same inlined bodies."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ir.Statement, frozenset[str] | None]] = {}
        """By identity; the statement is kept with it, so that its identity stays its own."""

    def written(self, statements: Sequence[ir.Statement]) -> set[str] | None:
        """Names of variables and headers they may write; None for any (a table runs whatever it holds)."""
        names: set[str] = set()
        for statement in statements:
            found = self._of(statement)
            if found is None:
                return None
            names |= found
        return names

    def _of(self, statement: ir.Statement) -> frozenset[str] | None:
        known = self._known.get(id(statement))
        if known is not None:
            return known[1]
        names: set[str] | None = _own(statement)
        blocks = walk.nested_blocks(statement)
        for block in blocks:
            inner = self.written(block)
            names = None if names is None or inner is None else names | inner
        found = None if names is None else frozenset(names)
        if blocks:
            self._known[id(statement)] = statement, found
        return found


def _own(statement: ir.Statement) -> set[str] | None:
    """What a statement writes itself, without the statements in it."""
    if isinstance(statement, ir.ApplyTable):
        return None
    if isinstance(statement, ir.PushFront | ir.PopFront):
        return set(roots(statement.stack))
    names: set[str] = set()
    if isinstance(statement, ir.CallExtern):
        for argument in statement.arguments:
            values = argument if isinstance(argument, tuple) else (argument,)
            names.update(name for value in values if isinstance(value, ir.Place) for name in roots(value))
        return names
    targets = (expr for expr, is_target in walk.own_expressions(statement) if is_target)
    for place in (*targets, *walk.header_refs(statement)):
        names.update(roots(place))
    return names


def reads(value: Value, names: set[str] | None) -> bool:
    """Whether a write to one of the names could change the value."""
    if isinstance(value, ir.Constant | ir.Text) or value is None:
        return False
    return names is None or not names.isdisjoint(roots(value))
