"""Rewriting, from the source of a handler to the function that is compiled.

It is parsed, checked (`check.subset`), guarded (`check.guards`) and, with derived costs, charged (`cost.derive`). Our
own handlers give their integers types where it matters, and their indices are tested: both passes leave them alone.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

from pspin_model.handlers.check import guards, words
from pspin_model.handlers.check.subset import Names, Uses, hands_on_core, ours, uses
from pspin_model.handlers.cost.derive import derive
from pspin_model.handlers.errors import HandlerError, place_in, placed


def rewritten(function: FunctionType, derived: bool, is_helper: bool = False) -> tuple[Callable[..., Any], Uses]:
    """The function with its loops counted and, if derived, its operations charged, itself if there is nothing to do;
    and what it uses. Raises HandlerError."""
    tree = _parsed(function)
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    core = definition.args.args[0].arg
    names = Names(definition, function)
    given = dict(guards.NAMES)

    def place(line: int) -> str:
        return place_in(function, line).strip(" ()")

    integers, indices = guards.Words(core, names, place), guards.Indices(core, names, place)
    counted, fitting, charges = (make(core, names) for make in (guards.Counted, guards.Fitting, guards.Charges))
    try:
        found = uses(definition, core, names)
        counted.visit(definition)
        found = replace(found, counts=derived or counted.count > 0)
        trusted = derived or ours(function)
        everywhere = is_helper and not trusted and hands_on_core(function, found)
        work = [] if trusted else [guards.Worked(core, names, everywhere)]
        own = [] if ours(function) else [integers]
        if derived:
            indices.visit(definition)
            given |= derive(definition, core, names, integers)
        passes = [fitting, *work, charges, *([] if derived or ours(function) else [indices]), *own]
        for each in passes:
            each.visit(definition)
    except HandlerError as error:
        raise placed(function, error) from None
    if not derived and not any(each.count for each in (counted, *passes)):
        return function, found
    return recompiled(function, tree, {**given, **words.WORDS, **integers.constants}), found


def priced(function: FunctionType, definition: ast.FunctionDef, core: str) -> Callable[..., Any]:
    """A function that knows no core, ``definition`` being its source, with its operations charged to ``core``, an
    argument put before its own. Raises HandlerError where one has no price."""
    definition.decorator_list = []
    definition.args.args.insert(0, ast.arg(core))
    names = Names(definition, function)
    integers = guards.Words(core, names, lambda line: place_in(function, line).strip(" ()"))
    given = derive(definition, core, names, integers)
    integers.visit(definition)
    return recompiled(function, ast.Module([definition], []), {**given, **words.WORDS, **integers.constants})


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
            node.source_text = (ast.get_source_segment(text, node) or "").split("\n")[0]  # type: ignore[union-attr]
    return tree


def recompiled(function: Callable[..., Any], tree: ast.Module, names: dict[str, Any]) -> Callable[..., Any]:
    """Run the changed definition where the original stood: its module, its file and line; its closure holds ``names``,
    too."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    given = {**names, **{name: cell.cell_contents for name, cell in cells}}
    arguments = ast.arguments([], [ast.arg(name) for name in given], None, [], [], None, [])
    give = ast.Return(guards.variable(function.__name__))
    tree.body = [ast.FunctionDef("_with_closure", arguments, [tree.body[0], give], [], None)]
    ast.fix_missing_locations(tree)
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    made: dict[str, Any] = {}
    exec(compile(tree, function.__code__.co_filename, "exec"), function.__globals__, made)
    result: Callable[..., Any] = made["_with_closure"](*given.values())
    result.__module__, result.__qualname__ = function.__module__, function.__qualname__
    return result
