"""Where numba caches our loops, and under which stamp."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core.caching import UserProvidedCacheLocator

from emulator.native.jit_cache import loops_folder, source_stamp


class ImportsLocator(UserProvidedCacheLocator):
    """numba's locator in its cache folder, with our stamp."""

    def get_source_stamp(self) -> str:
        return source_stamp(self._py_file)


LOCATOR = f"{ImportsLocator.__module__}.{ImportsLocator.__qualname__}"


@contextmanager
def our_cache() -> Iterator[None]:
    """numba asks where to cache when it decorates; functions of others keep their own place."""
    config: Any = numba.config
    kept = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
    config.CACHE_DIR = str(loops_folder())
    config.CACHE_LOCATOR_CLASSES = LOCATOR
    try:
        yield
    finally:
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = kept
