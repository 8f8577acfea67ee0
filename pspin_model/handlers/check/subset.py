"""What a handler or helper may be written in, and what it may call.

Syntax: the part of Python that the cores' machine code has words for: loops, decisions, arithmetic, calls of functions
by their names; anything else is refused with its line (`uses`). Callees: the machine, helpers, and those functions of
Python and numpy that terminate and check their bounds. numba compiles more: functions that read beyond the end of their
operands, that allocate without limit, that give other numbers in each run. As a callee may be defined after its caller,
callees are looked up when the handler is first used (`objection`).
"""

from __future__ import annotations

import ast
import builtins
import cmath
import enum
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.np.ufunc.dufunc import DUFunc

from emulator.native.deferred import Deferred
from emulator.native.jit_cache import PACKAGES
from pspin_model.handlers.errors import place_in, refused, source_of

# --- names ------------------------------------------------------------------------------------------------------------

NOTHING: Any = object()
"""What ``known`` returns for a variable of the function's own, and for a name that is not defined."""


class Names:
    """The names of one function."""

    def __init__(self, definition: ast.FunctionDef, function: FunctionType) -> None:
        self._function = function
        self.own = {each.arg for each in ast.walk(definition) if isinstance(each, ast.arg)} | {
            each.id for each in ast.walk(definition) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        """Arguments and variables."""

    def known(self, node: ast.AST) -> Any:
        """The object that an expression of names and dots denotes outside the function, or NOTHING."""
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


# --- syntax -----------------------------------------------------------------------------------------------------------

REFUSED: dict[type[ast.AST], str] = {
    ast.ListComp: "comprehensions in a handler; write a loop",
    ast.SetComp: "comprehensions in a handler; write a loop",
    ast.DictComp: "comprehensions in a handler; write a loop",
    ast.GeneratorExp: "generators in a handler; write a loop",
    ast.Yield: "generators in a handler; write a loop",
    ast.YieldFrom: "generators in a handler; write a loop",
    ast.Await: "await in a handler; it waits in the calls of pspin_model.handlers",
    ast.AsyncFor: "async in a handler",
    ast.AsyncWith: "async in a handler",
    ast.AsyncFunctionDef: "functions within a handler; make it a helper outside of it",
    ast.FunctionDef: "functions within a handler; make it a helper outside of it",
    ast.Lambda: "functions within a handler; make it a helper outside of it",
    ast.ClassDef: "classes within a handler",
    ast.Try: "try in a handler; an error ends it",
    ast.TryStar: "try in a handler; an error ends it",
    ast.With: "with in a handler; call lock and unlock",
    ast.Match: "match in a handler; write if and elif",
    ast.NamedExpr: "':=' in a handler; assign before",
    ast.JoinedStr: "f-strings in a handler; errors take constant texts and numbers",
    ast.Starred: "arguments or targets with a star in a handler; write them out",
    ast.Global: "global in a handler; globals are constants to it, its memory is scratchpad and handler_memory",
    ast.Nonlocal: "nonlocal in a handler; what is around it is constant to it",
    ast.Import: "import in a handler; import above it",
    ast.ImportFrom: "import in a handler; import above it",
    ast.Delete: "del in a handler; it has no memory to give back",
    ast.Dict: "dicts in a handler; use an array or a tuple",
    ast.Set: "sets in a handler; use an array or a tuple",
    ast.List: "lists in a handler; use an array or a tuple",
}
LISTS = ("array", "asarray")
"""Functions of numpy that a list may be given to."""

UNCHECKED = ("flat", "ctypes", "data", "base")
"""Attributes of views that lead around the checks of bounds."""
METHODS = (
    "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "conj", "conjugate", "copy", "cumprod", "cumsum",
    "dot", "fill", "flatten", "item", "max", "mean", "min", "nonzero", "prod", "ravel", "reshape", "sort", "std", "sum",
    "take", "transpose", "var", "view",
)  # fmt: skip
"""Methods of views and numbers that are bounds-checked and terminate."""


@dataclass(frozen=True, slots=True)
class Use:
    """Something from outside that a function reads or calls."""

    path: tuple[str, ...]
    line: int
    called: bool
    on_core: bool
    """Whether the first argument of the call is the core."""
    loop: bool
    """Whether a loop goes over what is called."""

    def __str__(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Uses:
    """What a function needs from outside."""

    names: tuple[Use, ...]
    counts: bool
    """Whether what the decorator puts into it counts or charges, and so needs the core it runs on."""
    rebound: int | None
    """The line in which its first argument gets another value."""


def uses(definition: ast.FunctionDef, core: str, names: Names) -> Uses:
    """What a function uses from outside. Raises HandlerError for what no handler can have."""
    found = _Syntax(core, names)
    for each in (*definition.args.defaults, *definition.args.kw_defaults):
        if each is not None:
            found.visit(each)
    if definition.args.vararg or definition.args.kwarg or definition.args.kwonlyargs:
        raise refused(definition, "only plain arguments: none with a star, or behind one")
    for statement in definition.body:
        found.visit(statement)
    return Uses(tuple(found.uses), False, found.rebound)


def _is_unchecked(attribute: str) -> bool:
    return attribute in UNCHECKED or attribute.startswith("_")


class _Syntax(ast.NodeVisitor):
    def __init__(self, core: str, names: Names) -> None:
        self._core, self._names = core, names
        self.uses: list[Use] = []
        self.rebound: int | None = None

    def generic_visit(self, node: ast.AST) -> None:
        if type(node) in REFUSED:
            raise refused(node, f"'{source_of(node)}': no {REFUSED[type(node)]}")
        super().generic_visit(node)

    # --- names and what is behind a dot ------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:
        if node.id == self._core and not isinstance(node.ctx, ast.Load):
            self.rebound = node.lineno
        self._use(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self._use(node):
            return
        if _is_unchecked(node.attr):
            raise refused(node, f"no bounds are checked in '.{node.attr}': use an index or a slice")
        self.visit(node.value)

    def _use(
        self, node: ast.Name | ast.Attribute, *, called: bool = False, core: bool = False, loop: bool = False
    ) -> bool:
        """Note what begins with a name from outside; whether it does."""
        path = dotted(node)
        if path is None or path[0] in self._names.own:
            return False
        self.uses.append(Use(path, node.lineno, called, core, loop))
        return True

    # --- calls -------------------------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> None:
        self._call(node, loop=False)

    def _call(self, node: ast.Call, loop: bool) -> None:
        called = node.func
        core = bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id == self._core
        if isinstance(called, ast.Attribute) and not self._use(called, called=True, core=core, loop=loop):
            if called.attr not in METHODS:
                raise refused(node, f"'{source_of(node)}': handlers call no '.{called.attr}' of views")
            self.visit(called.value)
        elif isinstance(called, ast.Name) and not self._use(called, called=True, core=core, loop=loop):
            raise refused(
                node, f"'{source_of(node)}': {called.id} is a variable; functions are called by their own names"
            )
        elif not isinstance(called, ast.Name | ast.Attribute):
            raise refused(node, f"'{source_of(node)}': functions are called by their own names")
        lists = dotted(called) is not None and (dotted(called) or ("",))[-1] in LISTS
        for place, each in enumerate([*node.args, *(keyword.value for keyword in node.keywords)]):
            if lists and place == 0 and isinstance(each, ast.List):
                for element in each.elts:
                    self.visit(element)
            elif loop and isinstance(each, ast.Call):  # enumerate(zip(a, b))
                self._call(each, loop=True)
            else:
                self.visit(each)

    # --- statements --------------------------------------------------------------------------------------------------

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.target)
        if isinstance(node.iter, ast.Call):
            self._call(node.iter, loop=True)
        else:
            self.visit(node.iter)
        for statement in [*node.body, *node.orelse]:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._target(target)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._target(node.target)
        if isinstance(node.op, ast.MatMult):
            raise refused(node, f"'{source_of(node)}': no '@=' in a handler")
        self.generic_visit(node)

    def _target(self, node: ast.expr) -> None:
        if isinstance(node, ast.List):
            raise refused(node, f"'{source_of(node)}': no {REFUSED[ast.List]}")
        if isinstance(node, ast.Attribute) and node.attr in ("shape", "strides", "real", "imag", "T", "dtype"):
            raise refused(node, f"'{source_of(node)}' is not to be written")

    def visit_Raise(self, node: ast.Raise) -> None:
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        given = node.exc.args if isinstance(node.exc, ast.Call) else []
        plain = isinstance(raised, ast.Name | ast.Attribute) and self._use(raised, called=True)
        if not plain or node.cause is not None or (isinstance(node.exc, ast.Call) and node.exc.keywords):
            raise refused(node, f"'{source_of(node)}': raise an error by its name, from nothing")
        self._texts(given)

    def visit_Assert(self, node: ast.Assert) -> None:
        self.visit(node.test)
        self._texts([node.msg] if node.msg else [])

    def _texts(self, given: list[ast.expr]) -> None:
        """What may be constant texts."""
        for each in given:
            if not isinstance(each, ast.Constant):
                self.visit(each)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):  # a text says something
            self.visit(node.value)

    # --- texts -------------------------------------------------------------------------------------------------------

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        if not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)):  # the name of a field
            self.visit(node.slice)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str | bytes):
            raise refused(node, f"{node.value!r}: no texts in a handler, but the names of fields and those of errors")


# --- callees ----------------------------------------------------------------------------------------------------------

BUILTINS = (
    "abs", "bool", "complex", "divmod", "enumerate", "float", "int", "len", "max", "min", "pow", "range", "round",
    "slice", "sum", "zip",
)  # fmt: skip
LOOPED = (enumerate, zip)
"""What only loops go over."""
NUMPY = (
    "abs", "all", "allclose", "amax", "amin", "any", "arange", "argmax", "argmin", "argsort", "argwhere", "array",
    "array_equal", "asarray", "ascontiguousarray", "clip", "copy", "count_nonzero", "cumprod", "cumsum",
    "diff", "dot", "empty", "empty_like", "expand_dims", "flatnonzero", "flip", "full", "full_like", "max", "mean",
    "median", "min", "nan_to_num", "nonzero", "ones", "ones_like", "prod", "ravel", "reshape", "round", "searchsorted",
    "sort", "std", "sum", "take", "transpose", "var", "where", "zeros", "zeros_like",
)  # fmt: skip
MACHINE_CALLS: set[int] = set()
"""The calls of the machine, by identity."""
CORELESS_CALLS: set[int] = set()
"""Those of them that do not take the core as first argument."""


class Charging(Deferred):
    """A handler or helper to be compiled: it charges what it does."""

    uses: Uses
    """What it needs from outside."""


def ours(thing: Any) -> bool:
    """Whether something is defined in our packages."""
    return str(getattr(thing, "__module__", None)).split(".")[0] in PACKAGES


def objection(root: Charging) -> str | None:
    """Why a handler cannot be: it or a helper of its, or of theirs, calls what it must not, or itself."""
    path: list[Any] = []
    done: set[int] = set()

    def walk(one: Charging) -> str | None:
        function = one.__wrapped__
        if any(one is each for each in path):
            return f": {function.__qualname__} calls itself, and a core's stack is small: write a loop"
        if id(one) in done:
            return None
        done.add(id(one))
        path.append(one)
        if one.uses.rebound is not None and _wants_core(one):
            return f"{place_in(function, one.uses.rebound)}: its first argument is the core it runs on, and stays that"
        for use in one.uses.names:
            value, rest = begun(function, use.path)
            if not ours(function) and (why := _wrong(use, value, rest)):
                which = "" if one is root else f", its helper {function.__name__}"
                return f"{which}{place_in(function, use.line)}: {why}"
            found = walk(value) if isinstance(value, Charging) and not rest else None
            if found:
                return found
        path.pop()
        return None

    return walk(root)


def _wants_core(value: Any, asked: tuple[Any, ...] = ()) -> bool:
    """Whether the first argument of a call of the machine or of a helper is the core it runs on: a helper that neither
    counts nor hands it on takes what it likes."""
    if not isinstance(value, Charging):
        return id(value) not in CORELESS_CALLS
    if value.uses.counts:
        return True
    return hands_on_core(value.__wrapped__, value.uses, (*asked, value))


def hands_on_core(function: FunctionType, uses: Uses, asked: tuple[Any, ...] = ()) -> bool:
    """Whether a function gives its first argument to something as the core."""
    used = (begun(function, use.path)[0] for use in uses.names if use.on_core and use.called)
    return any(
        (id(each) in MACHINE_CALLS or isinstance(each, Charging)) and _wants_core(each, asked)
        for each in used
        if not any(each is before for before in asked)
    )


def _wrong(use: Use, value: Any, rest: tuple[str, ...]) -> str | None:
    """What is wrong with a use of something."""
    if value is NOTHING:
        return f"nothing is called '{use}'"
    if isinstance(value, ModuleType) and not rest:
        return f"'{use}' is a module"
    if rest:
        return _attributes(use, value, rest)
    if any(_unchecked(each) for each in _flat([value])):
        return f"{use} is compiled by numba alone: make it a helper"
    if not callable(value) or isinstance(value, np.generic | numba.types.Type):
        return f"'{use}' is not a function" if use.called and not isinstance(value, numba.types.Type) else None
    if isinstance(value, type) and not issubclass(value, range | slice | enumerate | zip | reversed):
        return _type(use, value)
    if not use.called:
        return f"'{use}' is called by its name alone"
    if isinstance(value, Charging) or id(value) in MACHINE_CALLS:
        return f"the first argument of '{use}' is the core" if _wants_core(value) and not use.on_core else None
    if id(value) not in _library_functions():
        return _refusal(use, value)
    if any(value is each for each in LOOPED) and not use.loop:
        return f"'{use}' is for loops to go over: 'for .. in {use}(..):'"
    return None


def _attributes(use: Use, value: Any, rest: tuple[str, ...]) -> str | None:
    """Why attributes of something that is not a module may not be read; None if they may."""
    for name in filter(_is_unchecked, rest):
        return f"no bounds are checked in '.{name}': use an index or a slice"
    if callable(value) and not isinstance(value, np.generic):
        return f"'{use}': handlers call functions as they are"
    return f"handlers call no '.{rest[-1]}'" if use.called and rest[-1] not in METHODS else None


def _type(use: Use, value: type) -> str | None:
    numbers = issubclass(value, int | float | complex | np.generic | BaseException | enum.Enum)
    if numbers or (issubclass(value, tuple) and hasattr(value, "_fields")):
        return None
    return f"'{use}' is not a number, an error or a named tuple" if use.called else None


def _refusal(use: Use, value: Any) -> str:
    if isinstance(value, FunctionType) and str(value.__module__).split(".")[0] not in ("numpy", "numba"):
        return f"'{use}' is plain Python: make it a helper"
    if value is reversed:
        return "no 'reversed': go over range(n - 1, -1, -1) or view[::-1]"
    if value is print:
        return "no 'print': write to the host's memory (write_to_host, copy_to_host)"
    if str(getattr(value, "__module__", "")).startswith("numpy.lib") and "strid" in str(use):
        return f"no bounds are checked in what '{use}' returns: use a slice or reshape"
    return f"handlers do not call '{use}'; the README of pspin_model lists what they do"


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    """Values, and those in tuples among them."""
    for value in values:
        if isinstance(value, tuple):
            yield from _flat(value)
        else:
            yield value


def _unchecked(value: Any) -> bool:
    """Whether something is compiled, and is neither a helper nor a call of the machine."""
    compiled_one = isinstance(value, Deferred | Dispatcher | DUFunc) and not isinstance(value, Charging)
    return compiled_one and id(value) not in MACHINE_CALLS


def register_machine_calls(values: Iterable[Any], coreless: Iterable[Any]) -> None:
    """Let handlers call these functions of the machine; ``coreless`` take no core. Called by the package itself."""
    MACHINE_CALLS.update(id(value) for value in values if isinstance(value, Deferred))
    CORELESS_CALLS.update(map(id, coreless))


@cache
def _library_functions() -> frozenset[int]:
    """Functions of Python's and numpy's, by identity."""
    found = [getattr(builtins, name) for name in BUILTINS] + [getattr(np, name) for name in NUMPY]
    found += [each for each in vars(np).values() if isinstance(each, np.ufunc)]
    found += [each for of in (math, cmath) for each in vars(of).values() if callable(each)]
    return frozenset(map(id, found))
