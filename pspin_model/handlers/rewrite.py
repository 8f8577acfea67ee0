"""Rewriting a handler's source before it is compiled: loops that are counted, operations that are charged."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from pspin_model.handlers.core import turn

TURN = "_netsum_turn"


class _Loops(ast.NodeTransformer):
    """A call of `turn` at the start of every while loop's body."""

    def __init__(self, core: str) -> None:
        self.core = core
        self.changed = False

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        self.changed = True
        call = ast.Expr(ast.Call(ast.Name(TURN, ast.Load()), [ast.Name(self.core, ast.Load())], []))
        node.body.insert(0, ast.copy_location(call, node))
        return node


def rewritten(function: Callable[..., Any], derived: bool) -> Callable[..., Any]:
    """The function with its loops counted and, if derived, its operations charged; itself if there is nothing to do."""
    source = textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(source)
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    core = definition.args.args[0].arg
    names: dict[str, Any] = {TURN: turn}
    loops = _Loops(core)
    loops.visit(definition)
    if derived:
        from pspin_model.handlers.derive import derive

        names |= derive(definition, core)
    elif not loops.changed:
        return function
    return _compiled(function, tree, names)


def _compiled(function: Callable[..., Any], tree: ast.Module, names: dict[str, Any]) -> Callable[..., Any]:
    """Run the changed definition where the original stood: its module, its file and line, its closure."""
    free = function.__code__.co_freevars
    definition = tree.body[0]
    if free:
        arguments = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
        give = ast.Return(ast.Name(function.__name__, ast.Load()))
        tree.body = [ast.FunctionDef("_with_closure", arguments, [definition, give], [], None)]
    ast.fix_missing_locations(tree)
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    function.__globals__.update(names)
    made: dict[str, Any] = {}
    exec(compile(tree, function.__code__.co_filename, "exec"), function.__globals__, made)
    if free:
        values = [cell.cell_contents for cell in function.__closure__ or ()]
        result: Callable[..., Any] = made["_with_closure"](*values)
    else:
        result = made[function.__name__]
    result.__module__ = function.__module__
    return result
