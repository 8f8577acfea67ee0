"""Garbage collection with the ten thousand tests of a worker in memory: what their collection made is never garbage."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

from emulator.native.gc_pause import gc_paused

YOUNG_OBJECTS = 20_000
"""Made between two collections; Python's 700 cost compilations a twentieth of their time."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    with gc_paused():
        result = yield
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 10, 10)
    return result
