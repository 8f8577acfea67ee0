"""Functions of handlers that are compiled for the types of their arguments: numba's overloads, with checks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

CHECKED: Any = {"boundscheck": True, "error_model": "python"}
"""Indexes out of bounds and divisions by zero end a handler with an error."""


def overloaded(implement: Callable[..., Any]) -> Any:
    """Decorator of a function that only compiled code calls: ``implement`` gets the types of its arguments and returns
    the function to compile for them."""
    from numba.extending import overload

    names = ", ".join(inspect.signature(implement).parameters)
    space: dict[str, Any] = {"__name__": implement.__module__}
    exec(f"def {implement.__name__}({names}):\n    raise NotImplementedError\n", space)
    made = space[implement.__name__]
    made.__doc__ = implement.__doc__
    overload(made, strict=False, jit_options=CHECKED)(implement)
    return made
