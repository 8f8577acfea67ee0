"""Functions of handlers that are compiled for the types of their arguments: numba's overloads, with checks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

CHECKED: Any = {"boundscheck": True, "error_model": "python"}
"""Indexes out of bounds and divisions by zero end a handler with an error."""


def defined(text: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """The function that ``text`` defines, for an overload to return; ``names`` are its globals.

    It gets a module: numba keeps the environment of a function without one out of its disk cache, and the record of an
    exception with run-time arguments is not readable without."""
    made: dict[str, Any] = {}
    exec(text, {**names, "__name__": __name__}, made)
    (function,) = made.values()
    return cast(Callable[..., Any], function)


def overloaded(implement: Callable[..., Any]) -> Any:
    """Decorator of a function that only compiled code calls: ``implement`` gets the types of its arguments and returns
    the function to compile for them."""
    from numba.extending import overload

    names = ", ".join(inspect.signature(implement).parameters)
    made = defined(f"def {implement.__name__}({names}):\n    raise NotImplementedError\n", {})
    made.__doc__ = implement.__doc__
    overload(made, strict=False, jit_options=CHECKED)(implement)
    return made
