"""User-defined operators and element types: lookup of ``module:name``, source of a function, bounded loops."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from pspin_model.flare.elements import ELEMENT_TYPES, ElementType
from pspin_model.handlers.check.guards import Words
from pspin_model.handlers.check.subset import Names
from pspin_model.handlers.check.words import WORDS
from pspin_model.handlers.errors import place_in
from pspin_model.handlers.rewrite import recompiled
from pspin_model.machine.config import ConfigError

MOST_TURNS = 1_000_000
"""Limit of the iterations of all loops for one pair of elements; a host does them in milliseconds. [ours]"""
COUNT = "_netsum_turns"


def lookup(what: str, name: str) -> Any:
    """The object of that name; ``what`` begins the error message. Raises ConfigError."""
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{what} {name}: {error}") from None


OURS = {name: ElementType(dtype) for name, dtype in ELEMENT_TYPES.items()}


def element_kind(name: str) -> ElementType:
    """An element type by its name: one of ours, an `ElementType` of the user's, or anything that numpy takes for a
    dtype. Raises ConfigError."""
    if name in OURS:
        return OURS[name]
    if ":" not in name:
        raise ConfigError(f'type = {name!r}: choose one of {", ".join(ELEMENT_TYPES)}, or "module:name"')
    value = lookup("type", name)
    try:
        kind = value if isinstance(value, ElementType) else ElementType(np.dtype(value))
    except TypeError as error:
        raise ConfigError(f"type {name}: {error}") from None
    if wrong := kind.problem():
        raise ConfigError(f"type {name} is {wrong}")
    return kind


def user_function(name: str) -> Callable[[Any, Any], Any]:
    """An operator. Raises ConfigError."""
    function = lookup("operator", name)
    if not callable(function):
        raise ConfigError(f"operator {name} is not a function")
    return function  # type: ignore[no-any-return]


def definition_of(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """A function's source, or a lambda's if it is the only one on its lines; None where it cannot be read."""
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
    """The function with a RuntimeError after `MOST_TURNS` iterations, and with the cores' integers (`words`); unchanged
    if there is nothing to do, or its source cannot be read."""
    definition = definition_of(function)
    if definition is None:
        return function
    definition.decorator_list = []
    integers = Words("", Names(definition, function), lambda line: place_in(function, line).strip(" ()"))
    integers.visit(definition)
    loops = any(isinstance(each, ast.While | ast.For) for each in ast.walk(definition))
    if not loops and not integers.count:
        return function
    if loops:
        turns = _Turns()
        definition.body = [*ast.parse(f"{COUNT} = 0").body, *(turns.visit(each) for each in definition.body)]
    return recompiled(function, ast.Module([definition], []), {**WORDS, **integers.constants})


class _Turns(ast.NodeTransformer):
    """Counts the iterations of all loops."""

    def _counted(self, node: Any) -> Any:
        self.generic_visit(node)
        node.body[:0] = ast.parse(f"{COUNT} += 1\nif {COUNT} > {MOST_TURNS}:\n    raise RuntimeError").body
        return node

    def visit_While(self, node: ast.While) -> Any:
        return self._counted(node)

    def visit_For(self, node: ast.For) -> Any:
        return self._counted(node)
