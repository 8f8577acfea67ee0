"""What the names in a function's source stand for."""

from __future__ import annotations

import ast
import builtins
import enum
from types import FunctionType, ModuleType
from typing import Any

NOTHING: Any = object()
"""Of a name: a variable of the function's own, or nothing at all."""


class Names:
    """The names of one function."""

    def __init__(self, definition: ast.FunctionDef, function: FunctionType) -> None:
        self._function = function
        self.own = {each.arg for each in ast.walk(definition) if isinstance(each, ast.arg)} | {
            each.id for each in ast.walk(definition) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        """Arguments and variables."""

    def known(self, node: ast.AST) -> Any:
        """The object that an expression of names and dots stands for outside the function, or NOTHING."""
        path = dotted(node)
        return NOTHING if path is None or path[0] in self.own else resolved(self._function, path)


def dotted(node: ast.AST) -> tuple[str, ...] | None:
    """``a.b.c`` as its names, or None."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if not isinstance(node, ast.Attribute):
        return None
    before = dotted(node.value)
    return None if before is None else (*before, node.attr)


def named(function: FunctionType, name: str) -> Any:
    """What a function finds outside itself under a name, or NOTHING."""
    free = function.__code__.co_freevars
    if name in free:
        try:
            return (function.__closure__ or ())[free.index(name)].cell_contents
        except ValueError:  # not yet set
            return NOTHING
    return function.__globals__.get(name, getattr(builtins, name, NOTHING))


def resolved(function: FunctionType, path: tuple[str, ...]) -> Any:
    """The object at the end of a path of names, or NOTHING."""
    value, rest = begun(function, path)
    for name in rest:
        value = getattr(value, name, NOTHING)
    return value


def begun(function: FunctionType, path: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
    """What a path of names comes to through modules and enums, and the attributes of it that are left."""
    value = named(function, path[0])
    for place, name in enumerate(path[1:], 1):
        if not isinstance(value, ModuleType | enum.EnumMeta):
            return value, path[place:]
        value = getattr(value, name, NOTHING)
    return value, ()
