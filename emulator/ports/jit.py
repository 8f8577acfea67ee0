"""The one decorator for compiled loops: numba, without the GIL, cached on disk under a key that can be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba

from emulator.ports.jit_cache import ImportsLocator, loops_folder

LOCATOR = f"{ImportsLocator.__module__}.{ImportsLocator.__qualname__}"


@contextmanager
def _our_cache() -> Iterator[None]:
    """numba asks where to cache when it decorates; functions of others keep their own place."""
    config: Any = numba.config
    kept = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
    config.CACHE_DIR = str(loops_folder())
    config.CACHE_LOCATOR_CLASSES = LOCATOR
    try:
        yield
    finally:
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = kept


def njit(function: Any = None, **options: Any) -> Any:
    """``numba.njit`` with ``nogil`` and ``cache``; takes the same options."""
    if function is None:
        return lambda function: njit(function, **options)
    with _our_cache():
        return numba.njit(**{"nogil": True, "cache": True, "error_model": "numpy", **options})(function)
