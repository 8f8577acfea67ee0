"""Turns of handlers' loops, and the sizes of the arrays they make: counted before the work begins, against the limit on
loops, so that none goes on for ever or asks the host for all its memory."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload

from pspin_model.handlers.core import CHECKED, turn, turns
from pspin_model.handlers.errors import HandlerError, refused, told
from pspin_model.handlers.names import Names

TURN, GONE_OVER, ROOM, ARANGE = "_netsum_turn", "_netsum_gone_over", "_netsum_room", "_netsum_arange"
SIZED = ("zeros", "ones", "empty", "full")
"""Functions of numpy whose first argument is a shape."""
OPTIONS: Any = {"strict": False, "jit_options": CHECKED}


def gone_over(h: Any, over: Any) -> Any:
    """``over``, each element of which costs a turn."""
    raise NotImplementedError


@overload(gone_over, **OPTIONS)
def _gone_over(h, over):  # type: ignore[no-untyped-def]  # numba compares signatures with the lambdas'
    if isinstance(over, types.BaseTuple):
        return lambda h, over: over
    if not isinstance(over, types.Array | types.RangeType):
        raise HandlerError(f"no loops over {over}: go over a range, a view, a tuple, or enumerate or zip of them")
    if isinstance(over, types.Array) and over.ndim == 0:
        raise HandlerError("no loops over an array without axes")

    def implement(h, over):  # type: ignore[no-untyped-def]
        turns(h, len(over))
        return over

    return implement


def room(h: Any, shape: Any) -> Any:
    """``shape``, each element of which costs a turn."""
    raise NotImplementedError


@overload(room, **OPTIONS)
def _room(h, shape):  # type: ignore[no-untyped-def]
    if isinstance(shape, types.Integer):

        def one(h, shape):  # type: ignore[no-untyped-def]
            turns(h, shape)
            return shape

        return one
    if not isinstance(shape, types.UniTuple) or not isinstance(shape.dtype, types.Integer):
        raise HandlerError(f"a shape is whole numbers, not {shape}")

    def several(h, shape):  # type: ignore[no-untyped-def]
        size = 1.0
        for each in shape:
            size *= each
        turns(h, int(min(max(size, 0.0), 2.0**62)))
        return shape

    return several


def arange(h: Any, start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """numpy's; each element costs a turn."""
    raise NotImplementedError


def _absent(kind: Any) -> bool:
    return isinstance(kind, types.NoneType | types.Omitted)


@overload(arange, **OPTIONS)
def _arange(h, start, stop, step, dtype):  # type: ignore[no-untyped-def]
    typed = not _absent(dtype)
    if _absent(stop):
        if typed:
            return lambda h, start, stop, step, dtype: np.arange(_steps(h, 0.0, float(start), 1.0, start), dtype=dtype)
        return lambda h, start, stop, step, dtype: np.arange(_steps(h, 0.0, float(start), 1.0, start))
    if _absent(step):
        if typed:
            return lambda h, start, stop, step, dtype: np.arange(
                start, _steps(h, float(start), float(stop), 1.0, stop), dtype=dtype
            )
        return lambda h, start, stop, step, dtype: np.arange(start, _steps(h, float(start), float(stop), 1.0, stop))
    if typed:
        return lambda h, start, stop, step, dtype: np.arange(
            start, _steps(h, float(start), float(stop), float(step), stop), step, dtype=dtype
        )
    return lambda h, start, stop, step, dtype: np.arange(
        start, _steps(h, float(start), float(stop), float(step), stop), step
    )


def _steps(h: Any, start: float, stop: float, step: float, value: Any) -> Any:
    """``value``, when the steps are counted."""
    raise NotImplementedError


@overload(_steps, **OPTIONS)
def _counted_steps(h, start, stop, step, value):  # type: ignore[no-untyped-def]
    def implement(h, start, stop, step, value):  # type: ignore[no-untyped-def]
        turns(h, int(min(max((stop - start) / step, 0.0), 2.0**62)))
        return value

    return implement


NAMES: dict[str, Any] = {TURN: turn, GONE_OVER: gone_over, ROOM: room, ARANGE: arange}


class Counted(ast.NodeTransformer):
    """Has every loop of a function count: a while loop at each turn, and another way out where it may have none, as the
    compiler wants it; a for loop before its first, all at once, so that it stays as fast."""

    def __init__(self, core: str, names: Names) -> None:
        self._core, self._names = core, names
        self.count = 0

    def _call(self, name: str, *arguments: ast.expr) -> ast.Call:
        return ast.Call(ast.Name(name, ast.Load()), [ast.Name(self._core, ast.Load()), *arguments], [])

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        self.count += 1
        call = self._call(TURN)
        counted: ast.stmt = ast.Expr(call)
        if isinstance(node.test, ast.Constant):
            counted = ast.If(call, [ast.Raise(ast.Name("RuntimeError", ast.Load()))], [])
        node.body.insert(0, ast.copy_location(counted, node))
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = self._over(node.iter)
        return node

    def _over(self, node: ast.expr) -> ast.expr:
        """What a loop goes over, counted; of several views, each."""
        called = self._names.known(node.func) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and called in (enumerate, zip):
            several = len(node.args) if called is zip else min(len(node.args), 1)
            node.args = [*map(self._over, node.args[:several]), *node.args[several:]]
            return node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == GONE_OVER:
            return node
        self.count += 1
        return ast.copy_location(self._call(GONE_OVER, node), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = self._names.known(node.func)
        if any(called is each for each in (sum, min, max)) and len(node.args) == 1:
            node.args = [self._over(node.args[0])]
        elif called is np.arange:
            return self._arange(node)
        elif any(called is getattr(np, name) for name in SIZED):
            self._sized(node)
        return node

    def _sized(self, node: ast.Call) -> None:
        self.count += 1
        if node.args:
            node.args[0] = self._call(ROOM, node.args[0])
            return
        for keyword in node.keywords:
            if keyword.arg == "shape":
                keyword.value = self._call(ROOM, keyword.value)

    def _arange(self, node: ast.Call) -> ast.AST:
        self.count += 1
        given = dict(zip(("start", "stop", "step", "dtype"), node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in given:
                raise refused(node, f"'{told(node)}' cannot be told apart")
            given[keyword.arg] = keyword.value
        if "start" not in given:
            raise refused(node, f"'{told(node)}': give the first number as the first argument")
        order = [given.get(name, ast.Constant(None)) for name in ("start", "stop", "step", "dtype")]
        return ast.copy_location(self._call(ARANGE, *order), node)
