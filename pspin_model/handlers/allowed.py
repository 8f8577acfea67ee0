"""What handlers may call: the machine, helpers, arithmetic of Python's and numpy's whose work has an end and whose
places are checked. The compiler knows more: functions that read behind the end of what they are given, that ask the
host's memory for more than it has, that give other numbers in each run."""

from __future__ import annotations

import builtins
import cmath
import enum
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.np.ufunc.dufunc import DUFunc

from emulator.native.deferred import Deferred
from pspin_model.handlers.kept import Charging, ours
from pspin_model.handlers.names import NOTHING, begun
from pspin_model.handlers.syntax import METHODS, UNCHECKED, Use, Uses

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
NO_CORE = ("address_of",)
"""Functions of the machine that do not want to know where they run."""


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
            return f"{_place(function, one.uses.rebound)}: its first argument is the core it runs on, and stays that"
        for use in one.uses.names:
            value, rest = begun(function, use.path)
            if not ours(function) and (why := _wrong(use, value, rest)):
                which = "" if one is root else f", its helper {function.__name__}"
                return f"{which}{_place(function, use.line)}: {why}"
            found = walk(value) if isinstance(value, Charging) and not rest else None
            if found:
                return found
        path.pop()
        return None

    return walk(root)


def _place(function: FunctionType, line: int) -> str:
    code = function.__code__
    return f" ({Path(code.co_filename).name}:{code.co_firstlineno - 1 + line})"


def _wants_core(value: Any, asked: tuple[Any, ...] = ()) -> bool:
    """Whether the first argument of a call of the machine or of a helper is the core it runs on: a helper that neither
    counts nor hands it on takes what it likes."""
    if not isinstance(value, Charging):
        return id(value) not in _without_core()
    if value.uses.counts:
        return True
    return hands_on_core(value.__wrapped__, value.uses, (*asked, value))


def hands_on_core(function: FunctionType, uses: Uses, asked: tuple[Any, ...] = ()) -> bool:
    """Whether a function gives its first argument to something as the core."""
    used = (begun(function, use.path)[0] for use in uses.names if use.on_core and use.called)
    return any(
        (id(each) in _machine() or isinstance(each, Charging)) and _wants_core(each, asked)
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
        return f"'{use}' is no function" if use.called and not isinstance(value, numba.types.Type) else None
    if isinstance(value, type) and not issubclass(value, range | slice | enumerate | zip | reversed):
        return _type(use, value)
    if not use.called:
        return f"'{use}' is called by its name alone"
    if isinstance(value, Charging) or id(value) in _machine():
        return f"the first argument of '{use}' is the core" if _wants_core(value) and not use.on_core else None
    if id(value) not in _functions():
        return _refusal(use, value)
    if any(value is each for each in LOOPED) and not use.loop:
        return f"'{use}' is for loops to go over: 'for .. in {use}(..):'"
    return None


def _attributes(use: Use, value: Any, rest: tuple[str, ...]) -> str | None:
    """Of what is read behind something that is no module."""
    for name in rest:
        if name in UNCHECKED or name.startswith("_"):
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
    return compiled_one and id(value) not in _machine()


_known: dict[str, frozenset[int]] = {}


def _machine() -> frozenset[int]:
    """The calls of the machine, by identity."""
    if "machine" not in _known:
        import pspin_model.handlers as calls

        found = {name: getattr(calls, name) for name in calls.__all__}
        _known["machine"] = frozenset(id(value) for value in found.values() if isinstance(value, Deferred))
        _known["without core"] = frozenset(id(found[name]) for name in NO_CORE)
    return _known["machine"]


def _without_core() -> frozenset[int]:
    _machine()
    return _known["without core"]


def _functions() -> frozenset[int]:
    """Functions of Python's and numpy's, by identity."""
    if "functions" not in _known:
        found = [getattr(builtins, name) for name in BUILTINS] + [getattr(np, name) for name in NUMPY]
        found += [each for each in vars(np).values() if isinstance(each, np.ufunc)]
        found += [each for of in (math, cmath) for each in vars(of).values() if callable(each)]
        _known["functions"] = frozenset(id(each) for each in found)
    return _known["functions"]
