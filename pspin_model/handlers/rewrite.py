"""Rewriting a handler's source before it is compiled: loops that are counted, operations that are charged, charges with
all their counts."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from pspin_model.handlers.core import charge, charge_all, turn, turns
from pspin_model.handlers.shapes import fits, into1, into2


class HandlerError(TypeError):
    """A function that cannot be a handler. Says why."""


COUNTS = tuple(inspect.signature(charge).parameters)[1:]
"""Arguments of `charge` behind the core."""
TURN, TURNS, RANGE, CHARGE = "_netsum_turn", "_netsum_turns", "_netsum_range", "_netsum_charge"
FITS, INTO = "_netsum_fits", {1: "_netsum_into1", 2: "_netsum_into2"}


class _Loops(ast.NodeTransformer):
    """A call of `turn` at the start of every while loop's body; and of one that may have no way out, a way: the
    compiler wants it."""

    def __init__(self, core: str) -> None:
        self.core = core
        self.changed = False

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        self.changed = True
        call = ast.Call(ast.Name(TURN, ast.Load()), [ast.Name(self.core, ast.Load())], [])
        counted: ast.stmt = ast.Expr(call)
        if isinstance(node.test, ast.Constant):
            counted = ast.If(call, [ast.Raise(ast.Name("RuntimeError", ast.Load()))], [])
        node.body.insert(0, ast.copy_location(counted, node))
        return node


class _Ranges(ast.NodeTransformer):
    """A call of `turns` before every loop over a range: its length at once, so that the loop itself stays as fast."""

    def __init__(self, core: str) -> None:
        self.core = core
        self.count = 0

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.AST]:
        self.generic_visit(node)
        over = node.iter
        if not (isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range"):
            return node
        name = f"{RANGE}{self.count}"
        self.count += 1
        keep = ast.Assign([ast.Name(name, ast.Store())], over)
        length = ast.Call(ast.Name("len", ast.Load()), [ast.Name(name, ast.Load())], [])
        count = ast.Expr(ast.Call(ast.Name(TURNS, ast.Load()), [ast.Name(self.core, ast.Load()), length], []))
        node.iter = ast.Name(name, ast.Load())
        return [ast.copy_location(keep, node), ast.copy_location(count, node), node]


class _Comprehensions(ast.NodeVisitor):
    """Refuses them: numba makes nothing of a handler that has one, not even a fault."""

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            raise HandlerError(f"'{ast.unparse(node)}': no comprehensions in a handler; write a loop")
        super().generic_visit(node)


class _Charges(ast.NodeTransformer):
    """`charge_all` for every call of `charge`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.changed = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id == self.name) or not node.keywords:
            return node
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        rest = COUNTS[len(node.args) - 1 :]
        if set(given) <= set(rest):  # else it is wrong, and the compiler says how
            self.changed = True
            counts = [*node.args, *(given.get(name, ast.Constant(0)) for name in rest)]
            return ast.copy_location(ast.Call(ast.Name(CHARGE, ast.Load()), counts, []), node)
        return node


class _Fitting(ast.NodeTransformer):
    """``a += fits(a, b)`` for ``a += b``, and ``into2(np.add, a, b, c)`` for ``np.add(a, b, c)``."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._outside = inspect.getclosurevars(function).nonlocals
        self._globals = function.__globals__
        self.count = 0

    def _known(self, node: ast.expr) -> Any:
        """The object a name stands for outside the function, or None."""
        if isinstance(node, ast.Attribute):
            return getattr(self._known(node.value), node.attr, None)
        if not isinstance(node, ast.Name):
            return None
        return self._outside.get(node.id, self._globals.get(node.id, getattr(builtins, node.id, None)))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if isinstance(node.value, ast.Constant):
            return node
        self.count += 1
        before: list[ast.stmt] = []
        target = node.target
        if isinstance(target, ast.Subscript) and any(isinstance(e, ast.Call | ast.NamedExpr) for e in ast.walk(target)):
            whole, place = f"{FITS}_whole{self.count}", f"{FITS}_place{self.count}"
            before = [
                ast.Assign([ast.Name(whole, ast.Store())], target.value),
                ast.Assign([ast.Name(place, ast.Store())], _place(target.slice)),
            ]
            node.target = target = ast.Subscript(_name(whole), _name(place), ast.Store())
        read = ast.parse(ast.unparse(target), mode="eval").body
        node.value = ast.Call(_name(FITS), [read, node.value], [])
        return [*(ast.copy_location(each, node) for each in before), node]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = self._known(node.func)
        if not isinstance(called, np.ufunc):
            return self.generic_visit(node)
        node.args = [self.visit(each) for each in node.args]
        if any(isinstance(each, ast.Starred) for each in node.args):
            raise HandlerError(f"'{ast.unparse(node)}': write out its arguments")
        if len(node.args) == called.nin + 1 and called.nin in INTO:
            self.count += 1
            return ast.copy_location(ast.Call(_name(INTO[called.nin]), [node.func, *node.args], []), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._value(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._value(node)

    def _value(self, node: ast.Attribute | ast.Name) -> ast.AST:
        if isinstance(self._known(node), np.ufunc) and isinstance(node.ctx, ast.Load):
            raise HandlerError(f"'{ast.unparse(node)}' is called by its name alone")
        return self.generic_visit(node)


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _place(node: ast.expr) -> ast.expr:
    """An index as a value."""
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_place(each) for each in node.elts], ast.Load())
    if not isinstance(node, ast.Slice):
        return node
    parts = [node.lower, node.upper, *([node.step] if node.step else [])]
    return ast.Call(_name("slice"), [each or ast.Constant(None) for each in parts], [])


def rewritten(function: Callable[..., Any], derived: bool) -> Callable[..., Any]:
    """The function with its loops counted and, if derived, its operations charged; itself if there is nothing to do."""
    tree = _parsed(function)
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    core = definition.args.args[0].arg
    names: dict[str, Any] = {TURN: turn, TURNS: turns, CHARGE: charge_all}
    names |= {FITS: fits, INTO[1]: into1, INTO[2]: into2}
    if derived:
        from pspin_model.handlers.derive import derive  # it takes the error from here

        try:
            names |= derive(definition, core, function)
        except HandlerError as error:
            raise HandlerError(f"{function.__name__}: {error}") from None
    fitting = _Fitting(function)
    try:
        _Comprehensions().visit(definition)
        fitting.visit(definition)
    except HandlerError as error:
        raise HandlerError(f"{function.__name__}: {error}") from None
    loops = _Loops(core)
    loops.visit(definition)
    ranges = _Ranges(core)
    ranges.visit(definition)
    charges = [_Charges(name) for name, value in function.__globals__.items() if value is charge]
    for each in charges:
        each.visit(definition)
    if not (derived or fitting.count or loops.changed or ranges.count or any(each.changed for each in charges)):
        return function
    return _compiled(function, tree, names)


def _parsed(function: Callable[..., Any]) -> ast.Module:
    """A function's definition, alone."""
    name = getattr(function, "__name__", repr(function))
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        raise HandlerError(f"{name} has no source to read: define it with def, in a file") from None
    if not isinstance(tree.body[0], ast.FunctionDef) or tree.body[0].name != name:
        raise HandlerError(f"{name}: a handler or helper is a function defined with def")
    if not tree.body[0].args.args:
        raise HandlerError(f"{name} must take an argument, the core it runs on")
    return tree


def _compiled(function: Callable[..., Any], tree: ast.Module, names: dict[str, Any]) -> Callable[..., Any]:
    """Run the changed definition where the original stood: its module, its file and line; its closure holds ``names``,
    too."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    given = {**names, **{name: cell.cell_contents for name, cell in cells}}
    arguments = ast.arguments([], [ast.arg(name) for name in given], None, [], [], None, [])
    give = ast.Return(ast.Name(function.__name__, ast.Load()))
    tree.body = [ast.FunctionDef("_with_closure", arguments, [tree.body[0], give], [], None)]
    ast.fix_missing_locations(tree)
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    made: dict[str, Any] = {}
    exec(compile(tree, function.__code__.co_filename, "exec"), function.__globals__, made)
    result: Callable[..., Any] = made["_with_closure"](*given.values())
    result.__module__, result.__qualname__ = function.__module__, function.__qualname__
    return result
