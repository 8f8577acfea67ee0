"""Whole-array operations in loops of handlers: they count as turns by their elements, so that a loop over large views
that never ends is ended in seconds, too. With derived costs the cycles charged end it."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload

from pspin_model.handlers.core import CHECKED, turns
from pspin_model.handlers.kept import Charging
from pspin_model.handlers.names import NOTHING, Names

WORKED = "_netsum_worked"
OPTIONS: Any = {"strict": False, "jit_options": CHECKED}
ELEMENTS = 64
"""That count as a turn: what a host does in the time of one."""


def worked(h: Any, value: Any) -> Any:
    """``value``, whose elements something is done with."""
    raise NotImplementedError


@overload(worked, **OPTIONS)
def _worked(h, value):  # type: ignore[no-untyped-def]  # numba compares signatures with the lambdas'
    if not isinstance(value, types.Array):
        return lambda h, value: value

    def implement(h, value):  # type: ignore[no-untyped-def]
        turns(h, value.size // ELEMENTS)
        return value

    return implement


class Worked(ast.NodeTransformer):
    """Counts what loops do with arrays: operands and results of arithmetic and numpy's functions, what they write."""

    def __init__(self, core: str, names: Names, fits: str, into: tuple[str, ...], everywhere: bool) -> None:
        """``fits``, ``into``: calls that are around what is written; ``everywhere``: in loops or not, as in helpers."""
        self._core, self._names, self._fits, self._into = core, names, fits, into
        self._depth, self._within = int(everywhere), False
        self.count = 0

    def _counted(self, node: ast.expr) -> ast.expr:
        done = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == WORKED
        if done or isinstance(node, ast.Constant | ast.Tuple | ast.List) or self._names.known(node) is not NOTHING:
            return node
        self.count += 1
        core = ast.Name(self._core, ast.Load())
        return ast.copy_location(ast.Call(ast.Name(WORKED, ast.Load()), [core, node], []), node)

    def _inside(self, body: list[ast.stmt]) -> list[ast.stmt]:
        self._depth += 1
        made: list[ast.stmt] = []
        for each in body:
            done: Any = self.visit(each)
            made += done if isinstance(done, list) else [done]
        self._depth -= 1
        return made

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = self.visit(node.iter)
        node.body, node.orelse = self._inside(node.body), self._inside(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self._depth += 1
        node.test = self.visit(node.test)
        self._depth -= 1
        node.body, node.orelse = self._inside(node.body), self._inside(node.orelse)
        return node

    def _outermost(self, node: Any) -> ast.AST:
        """Arithmetic counts once: the compiler makes one loop of it."""
        within, self._within = self._within, True
        self.generic_visit(node)
        self._within = within
        plain = isinstance(node, ast.Compare) and any(isinstance(each, ast.Is | ast.IsNot) for each in node.ops)
        return self._counted(node) if self._depth and not within and not plain else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        return self._outermost(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        return node if isinstance(node.operand, ast.Constant) else self._outermost(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return self._outermost(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        within, self._within = self._within, False
        self.generic_visit(node)
        self._within = within
        if not self._depth:
            return node
        called = self._names.known(node.func)
        if isinstance(node.func, ast.Name) and node.func.id in self._into:
            node.args[-1] = self._counted(node.args[-1])
        elif isinstance(node.func, ast.Attribute) and called is NOTHING:
            node.func.value = self._counted(node.func.value)
        elif isinstance(called, np.ufunc) or str(getattr(called, "__module__", "")).startswith("numpy"):
            node.args[:1] = [self._counted(each) for each in node.args[:1]]
            return self._counted(node) if not isinstance(called, type) else node
        elif isinstance(called, Charging):
            node.args[1:] = [self._counted(each) for each in node.args[1:]]
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        return [*(each for target in node.targets for each in self._written(target)), node]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        fitted = node.value
        if isinstance(fitted, ast.Call) and isinstance(fitted.func, ast.Name) and fitted.func.id == self._fits:
            fitted.args[0] = self._counted(fitted.args[0]) if self._depth else fitted.args[0]
            return node
        if self._depth and isinstance(node.target, ast.Name):
            return [ast.copy_location(ast.Expr(self._counted(ast.Name(node.target.id, ast.Load()))), node), node]
        return [*self._written(node.target), node]

    def _written(self, target: ast.expr) -> list[ast.stmt]:
        """A count of a part that is written."""
        part = isinstance(target, ast.Subscript) and any(isinstance(each, ast.Slice) for each in ast.walk(target.slice))
        if not self._depth or not part or any(isinstance(each, ast.Call) for each in ast.walk(target)):
            return []
        read = ast.parse(ast.unparse(target), mode="eval").body
        return [ast.copy_location(ast.Expr(self._counted(read)), target)]
