"""What statements write, so that values read before them are saved only where that could be seen."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.p4 import ir, walk
from emulator.p4.lower_storage import Value, roots


def written(statements: Sequence[ir.Statement]) -> set[str] | None:
    """Names of variables and headers that the statements may write; None for any (a table runs whatever it holds)."""
    names: set[str] = set()
    for statement in walk.statements(tuple(statements)):
        if isinstance(statement, ir.ApplyTable):
            return None
        if isinstance(statement, ir.PushFront | ir.PopFront):
            names.update(roots(statement.stack))
        elif isinstance(statement, ir.CallExtern):
            for argument in statement.arguments:
                values = argument if isinstance(argument, tuple) else (argument,)
                names.update(name for value in values if isinstance(value, ir.Place) for name in roots(value))
        else:
            targets = (expr for expr, is_target in walk.own_expressions(statement) if is_target)
            for place in (*targets, *walk.header_refs(statement)):
                names.update(roots(place))
    return names


def reads(value: Value, names: set[str] | None) -> bool:
    """Whether a write to one of the names could change the value."""
    if isinstance(value, ir.Constant | ir.Text) or value is None:
        return False
    return names is None or not names.isdisjoint(roots(value))
