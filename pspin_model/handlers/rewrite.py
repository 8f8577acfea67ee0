"""Rewriting a handler's source before it is compiled: loops that are counted, operations that are charged, charges with
all their counts."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from pspin_model.handlers import loops
from pspin_model.handlers.allowed import hands_on_core
from pspin_model.handlers.core import charge, charge_all
from pspin_model.handlers.derive import derive
from pspin_model.handlers.errors import HandlerError, placed, refused, told
from pspin_model.handlers.kept import ours
from pspin_model.handlers.names import Names
from pspin_model.handlers.shapes import fits, into1, into2
from pspin_model.handlers.syntax import Uses, uses
from pspin_model.handlers.work import WORKED, Worked, worked

COUNTS = tuple(inspect.signature(charge).parameters)[1:]
"""Arguments of `charge` behind the core."""
CHARGE, FITS = "_netsum_charge", "_netsum_fits"
INTO = {1: "_netsum_into1", 2: "_netsum_into2"}


class _Charges(ast.NodeTransformer):
    """`charge_all` for every call of `charge`."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.count = 0

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if self._names.known(node.func) is not charge or not node.keywords:
            return node
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        rest = COUNTS[len(node.args) - 1 :]
        if set(given) <= set(rest):  # else it is wrong, and the compiler says how
            self.count += 1
            counts = [*node.args, *(given.get(name, ast.Constant(0)) for name in rest)]
            return ast.copy_location(ast.Call(_name(CHARGE), counts, []), node)
        return node


class _Fitting(ast.NodeTransformer):
    """``a += fits(a, b)`` for ``a += b``, and ``into2(np.add, a, b, c)`` for ``np.add(a, b, c)``."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.count = 0

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if isinstance(node.value, ast.Constant):
            return node
        self.count += 1
        before: list[ast.stmt] = []
        target = node.target
        if isinstance(target, ast.Subscript) and any(isinstance(e, ast.Call) for e in ast.walk(target)):
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
        self.generic_visit(node)
        called = self._names.known(node.func)
        if not isinstance(called, np.ufunc) or called.nin not in INTO:
            return node
        if node.keywords:
            raise refused(node, f"'{told(node)}': write where the result goes as the last argument")
        if len(node.args) == called.nin + 1:
            self.count += 1
            return ast.copy_location(ast.Call(_name(INTO[called.nin]), [node.func, *node.args], []), node)
        return node


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


def rewritten(function: FunctionType, derived: bool, is_helper: bool = False) -> tuple[Callable[..., Any], Uses]:
    """The function with its loops counted and, if derived, its operations charged, itself if there is nothing to do;
    and what it uses. Raises HandlerError."""
    tree = _parsed(function)
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    core = definition.args.args[0].arg
    names = Names(definition, function)
    given: dict[str, Any] = {
        **loops.NAMES,
        CHARGE: charge_all,
        FITS: fits,
        INTO[1]: into1,
        INTO[2]: into2,
        WORKED: worked,
    }
    counted, fitting, charges = loops.Counted(core, names), _Fitting(names), _Charges(names)
    try:
        found = uses(definition, core, names)
        counted.visit(definition)
        found = replace(found, counts=derived or counted.count > 0)
        trusted = derived or ours(function)
        everywhere = is_helper and not trusted and hands_on_core(function, found)
        work = Worked(core, names, FITS, tuple(INTO.values()), everywhere)
        passes: list[Any] = [fitting, charges] if trusted else [fitting, work, charges]
        if derived:
            given |= derive(definition, core, names)
        for each in passes:
            each.visit(definition)
    except HandlerError as error:
        raise placed(function, error) from None
    if not derived and not any(each.count for each in (counted, *passes)):
        return function, found
    return recompiled(function, tree, given), found


def priced(function: FunctionType, definition: ast.FunctionDef, core: str) -> Callable[..., Any]:
    """A function that knows no core, ``definition`` being its source, with its operations charged to ``core``, an
    argument put before its own. Raises HandlerError where one has no price."""
    definition.decorator_list = []
    definition.args.args.insert(0, ast.arg(core))
    given = derive(definition, core, Names(definition, function))
    return recompiled(function, ast.Module([definition], []), given)


def _parsed(function: Callable[..., Any]) -> ast.Module:
    """A function's definition, alone; each node with its own text."""
    name = getattr(function, "__name__", repr(function))
    try:
        text = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError):
        raise HandlerError(f"{name} has no source to read: define it with def, in a file") from None
    if not isinstance(tree.body[0], ast.FunctionDef) or tree.body[0].name != name:
        raise HandlerError(f"{name}: a handler or helper is a function defined with def")
    if not tree.body[0].args.args:
        raise HandlerError(f"{name} must take an argument, the core it runs on")
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt):
            node.told = (ast.get_source_segment(text, node) or "").split("\n")[0]  # type: ignore[union-attr]
    return tree


def recompiled(function: Callable[..., Any], tree: ast.Module, names: dict[str, Any]) -> Callable[..., Any]:
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
