"""The source of a user's operator: read, and with its loops counted, so that none goes on for ever."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any

from pspin_model.handlers.rewrite import recompiled

MOST_TURNS = 1_000_000
"""Of all its loops, for one pair of elements: a host is done with them in milliseconds. [ours]"""
COUNT = "_netsum_turns"


def definition_of(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """A function's source, or a lambda's that stands alone on its lines; None where it cannot be read."""
    if not isinstance(function, FunctionType):
        return None
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None
    if isinstance(tree.body[0], ast.FunctionDef) and tree.body[0].name == function.__name__:
        return tree.body[0]
    lambdas = [each for each in ast.walk(tree) if isinstance(each, ast.Lambda)]
    if len(lambdas) != 1:
        return None
    body: list[ast.stmt] = [ast.Return(lambdas[0].body)]
    return ast.FunctionDef(function.__name__, lambdas[0].args, body, [], None)


def bounded(function: FunctionType) -> Callable[..., Any]:
    """The function, which raises a RuntimeError after `MOST_TURNS` turns; itself where there is no loop."""
    definition = definition_of(function)
    turns = _Turns()
    if definition is None or not any(isinstance(each, ast.While | ast.For) for each in ast.walk(definition)):
        return function
    definition.decorator_list = []
    definition.body = [*ast.parse(f"{COUNT} = 0").body, *(turns.visit(each) for each in definition.body)]
    return recompiled(function, ast.Module([definition], []), {})


class _Turns(ast.NodeTransformer):
    """Each turn of each loop counts."""

    def _counted(self, node: Any) -> Any:
        self.generic_visit(node)
        node.body[:0] = ast.parse(f"{COUNT} += 1\nif {COUNT} > {MOST_TURNS}:\n    raise RuntimeError").body
        return node

    def visit_While(self, node: ast.While) -> Any:
        return self._counted(node)

    def visit_For(self, node: ast.For) -> Any:
        return self._counted(node)
