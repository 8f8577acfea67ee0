"""The cache of handlers' machine code: in the folder of all compiled loops, keyed by all that it was compiled from.

Functions are numba's to cache one by one here, where `emulator.native.loops_file` keeps one object file for a fixed set
of loops. That file cannot hold handlers: they are the user's, are compiled one by one as contexts first use them, have
other arguments than integers, and run in processes that have imported numba anyway (the engine calls into numba's
runtime for arrays). Folder and locator are the same (`emulator.native.jit_locator`); only the key differs.

numba makes constants of a function's globals and of its callees', and keys the code by source file alone: another value
would not be noticed. This key holds these values and the callees' own code. A function that uses something with an
undetermined value is not kept, but compiled in each process. Functions of our packages are keyed by their sources.
"""

from __future__ import annotations

import builtins
import dis
import enum
import hashlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

from emulator.native.deferred import Deferred
from emulator.native.jit import njit
from emulator.native.jit_cache import source_stamp
from emulator.native.jit_locator import our_cache
from pspin_model.handlers.check.subset import Charging, Uses, ours

CONSTANT_MODULES = ("builtins", "math", "cmath", "operator", "numpy", "numba")
"""Functions and types of these modules are constant for one version of the compiler, so the names are enough."""

_MISSING = object()


class UnknownValue(Exception):
    """A function uses something that may change without a change of the key."""


def compiled(function: Callable[..., Any], uses: Uses, **options: Any) -> Charging:
    """``njit`` of a handler or helper, its code kept on disk under such a key."""

    def make() -> Any:
        dispatcher = njit(internal=True, **options)(function).made
        with our_cache():
            dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]
        return dispatcher

    made = Charging(make, function)
    made.uses = uses
    return made


class _Cache(FunctionCache):
    """numba's cache of one function, with our key."""

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            self._key = key_of(self._py_func)
        except UnknownValue:
            self.disable()  # type: ignore[no-untyped-call]
        return super()._load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple(), self._key


def key_of(function: Callable[..., Any]) -> str:
    """Digest of a function's code, of the values it uses and of the functions it calls. Raises UnknownValue."""
    seen: set[int] = set()
    return hashlib.sha256("\n".join(_function(function, seen)).encode()).hexdigest()


def _called(value: Any) -> Any:
    """The Python function of a compiled one, or None."""
    wrapped = getattr(value, "__wrapped__", None) if isinstance(value, Deferred) else getattr(value, "py_func", None)
    compiled_one = isinstance(value, Deferred | Dispatcher) and isinstance(wrapped, types.FunctionType)
    return wrapped if compiled_one else None


def _function(function: Any, seen: set[int]) -> Iterator[str]:
    """A Python function; each only once, as they may call each other."""
    yield f"{function.__module__}.{function.__qualname__}"
    if id(function) in seen:
        return
    seen.add(id(function))
    code = function.__code__
    if ours(function):
        yield source_stamp(str(sys.modules[function.__module__].__file__))
    else:
        yield from _code(code)
        for path, value in _globals_of(function):
            yield path
            yield from _value(value, seen)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield name
        yield from _value(cell.cell_contents, seen)
    for value in function.__defaults__ or ():
        yield from _value(value, seen)


def _code(code: types.CodeType) -> Iterator[str]:
    yield f"{code.co_code!r} {code.co_names} {code.co_varnames} {code.co_freevars}"
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _code(each)
        else:
            yield from _value(each, set())


def _globals_of(function: Any) -> Iterator[tuple[str, Any]]:
    """Globals a function reads, and what it reads of modules."""
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [each for each in code.co_consts if isinstance(each, types.CodeType)]
        steps = list(dis.get_instructions(code))
        for place, step in enumerate(steps):
            if step.opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
                continue
            path = step.argval
            value = function.__globals__.get(path, getattr(builtins, path, _MISSING))
            for after in steps[place + 1 :]:
                if not isinstance(value, types.ModuleType) or after.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                    break
                path = f"{path}.{after.argval}"
                value = getattr(value, after.argval, _MISSING)
            yield path, value


def _value(value: Any, seen: set[int]) -> Iterator[str]:
    kind = type(value)
    if value is None or value is ... or kind in (bool, int, float, complex, str, bytes):
        yield f"{kind.__name__} {value!r}"
    elif isinstance(value, np.generic | np.ndarray) and not value.dtype.hasobject:
        yield f"{kind.__name__} {value.dtype.descr} {value.shape} {value.tobytes()!r}"
    elif isinstance(value, np.dtype | numba.types.Type):
        yield f"{kind.__name__} {value!r}"
    elif isinstance(value, enum.Enum):
        yield f"{kind.__module__}.{kind.__qualname__}.{value.name}"
        yield from _value(value.value, seen)
    elif isinstance(value, tuple):
        yield f"{kind.__qualname__} {getattr(kind, '_fields', '')} {len(value)}"
        for each in value:
            yield from _value(each, seen)
    elif isinstance(value, frozenset):
        yield f"{kind.__name__} {sorted(' '.join(_value(each, seen)) for each in value)}"
    else:
        yield from _callable(value, seen)


def _callable(value: Any, seen: set[int]) -> Iterator[str]:
    """A function or a type."""
    called = _called(value)
    if called is not None:
        yield from _function(called, seen)
    elif isinstance(value, types.FunctionType) and ours(value):
        yield from _function(value, seen)
    elif isinstance(value, type) and issubclass(value, enum.Enum):
        for member in value:
            yield from _value(member, seen)
    elif _constant(value):
        yield f"{type(value).__name__} {getattr(value, '__module__', '')}.{value.__name__}"
    else:
        raise UnknownValue(repr(value))


def _constant(value: Any) -> bool:
    name = getattr(value, "__name__", None)
    if isinstance(value, types.ModuleType):
        return name in CONSTANT_MODULES
    if isinstance(value, np.ufunc):
        return getattr(np, str(name), None) is value
    plain = isinstance(value, type | types.FunctionType | types.BuiltinFunctionType)
    known = str(getattr(value, "__module__", None)).split(".")[0] in CONSTANT_MODULES
    return (plain and known) or getattr(np, str(name), None) is value
