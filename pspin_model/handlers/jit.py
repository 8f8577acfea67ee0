"""`njit` for handlers and what they call: compiled once for whole numbers, and not for every constant or for Python.

numba takes a constant in a call for a type of its own, so that a function with an operation's code among its arguments
is compiled for each code; and it writes two more functions for every one, for callers in Python and in C. Handlers are
many small functions that no other code calls: without both they take half the time to compile.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from emulator.native.deferred import Deferred
from emulator.native.jit import njit as plain_njit

CHECKED: Any = {"boundscheck": True, "error_model": "python"}
"""Indexes out of bounds and divisions by zero end a handler with an error."""


def njit(function: Any = None, **options: Any) -> Any:
    """`emulator.native.jit.njit`, for functions that only compiled code calls."""
    if function is None:
        return lambda function: njit(function, **options)
    return Deferred(lambda: _dispatcher(function, options), function)


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    from numba.core import types

    made = plain_njit(function, **{"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **options}).made
    template = made.get_call_template

    def get_call_template(arguments: Any, named: Any) -> Any:
        return template(
            tuple(types.unliteral(each) for each in arguments),  # type: ignore[no-untyped-call]
            {name: types.unliteral(each) for name, each in named.items()},  # type: ignore[no-untyped-call]
        )

    made.get_call_template = get_call_template
    return made


def stand_in(implement: Callable[..., Any]) -> Any:
    """A function that only compiled code calls: ``implement`` gets the types of its arguments and returns the function
    to compile for them (numba's overload, with checks)."""
    from numba.extending import overload

    names = ", ".join(inspect.signature(implement).parameters)
    space: dict[str, Any] = {"__name__": implement.__module__}
    exec(f"def {implement.__name__}({names}):\n    raise NotImplementedError\n", space)
    made = space[implement.__name__]
    made.__doc__ = implement.__doc__
    overload(made, strict=False, jit_options=CHECKED)(implement)
    return made
