"""The one decorator for compiled loops: numba, without the GIL, cached on disk under a key that can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from emulator.native.deferred import Deferred


@overload
def njit(function: Callable[..., Any], **options: Any) -> Any: ...


@overload
def njit(function: None = None, **options: Any) -> Callable[[Callable[..., Any]], Any]: ...


def njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """``numba.njit`` with ``nogil`` and ``cache``; takes the same options. numba is imported when it is needed."""
    if function is None:
        return lambda function: njit(function, **options)
    return Deferred(lambda: _dispatcher(function, options), function)


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    import numba

    from emulator.native.jit_locator import our_cache

    with our_cache():
        return numba.njit(**{"nogil": True, "cache": True, "error_model": "numpy", **options})(function)
