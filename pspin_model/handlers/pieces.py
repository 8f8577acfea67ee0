"""Pieces of source: small questions about them, and how they are made."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from emulator.native.deferred import Deferred
from pspin_model.handlers import loops
from pspin_model.handlers.kept import Charging

MACHINE = "pspin_model.handlers."


def simple(node: ast.expr) -> bool:
    """Whether an expression may be read twice, or in vain."""
    return isinstance(node, ast.Name | ast.Constant) or (isinstance(node, ast.Attribute) and simple(node.value))


def named(node: ast.AST, name: str) -> bool:
    """Whether an expression is a call of what has that name."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def counts_a_turn(node: ast.stmt) -> bool:
    """Whether a statement is the count of a while loop's turns."""
    return (isinstance(node, ast.Expr) and named(node.value, loops.TURN)) or (
        isinstance(node, ast.If) and named(node.test, loops.TURN)
    )


def charges_itself(called: Any) -> bool:
    """Whether it is a helper, or a call of the machine."""
    if isinstance(called, Charging):
        return True
    return isinstance(called, Deferred) and str(getattr(called, "__module__", "")).startswith(MACHINE)


def holds_array(value: Any) -> bool:
    """Whether something is an array, or a tuple with one."""
    return isinstance(value, np.ndarray) or (isinstance(value, tuple) and any(map(holds_array, value)))


def among(called: Any, these: tuple[Any, ...]) -> bool:
    """Whether something is one of these, and not only equal to it."""
    return any(called is each for each in these)


def sliced(place: ast.expr) -> bool:
    """Whether there is a slice in an index."""
    return any(isinstance(each, ast.Slice) for each in ast.walk(place))


def variable(name: str) -> ast.Name:
    """What reads a variable."""
    return ast.Name(name, ast.Load())


def assigned(name: str, value: ast.expr) -> ast.Assign:
    """What gives a variable its value."""
    return ast.Assign([ast.Name(name, ast.Store())], value)


def listed(made: Any) -> list[Any]:
    """What a visit returns: one statement, or several."""
    return made if isinstance(made, list) else [made]
