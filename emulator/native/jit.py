"""The one decorator for compiled loops: numba, without the GIL, cached on disk under a key that can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from emulator.native.deferred import Deferred

whole_program = False
"""Set by ``emulator.native.whole_program``: only compiled code calls a function, and nothing is cached."""


@overload
def njit(function: Callable[..., Any], **options: Any) -> Any: ...


@overload
def njit(function: None = None, **options: Any) -> Callable[[Callable[..., Any]], Any]: ...


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """``numba.njit`` with ``nogil`` and ``cache``; takes the same options. numba is imported when it is needed.

    ``internal=True``: only compiled code calls the function, so it gets no wrappers for Python and C, and is compiled
    for the types of its arguments instead of for every constant. Many small functions take half the time to compile.
    """
    if function is None:
        return lambda function: njit(function, **options)
    return Deferred(lambda: _dispatcher(function, options), function)


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    import numba
    from numba.core import types

    from emulator.native.jit_locator import our_cache

    internal = options.pop("internal", False) or whole_program
    if whole_program:
        options["cache"] = False
    if internal:
        options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **options}
    with our_cache():
        made = numba.njit(**{"nogil": True, "cache": True, "error_model": "numpy", **options})(function)
    if not internal:
        return made
    template = made.get_call_template

    def get_call_template(arguments: Any, named: Any) -> Any:
        return template(
            tuple(types.unliteral(each) for each in arguments),  # type: ignore[no-untyped-call]
            {name: types.unliteral(each) for name, each in named.items()},  # type: ignore[no-untyped-call]
        )

    made.get_call_template = get_call_template
    return made
