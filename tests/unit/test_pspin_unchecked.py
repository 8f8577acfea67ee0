"""Handlers on the PsPIN model have no way around the checks: what numba would compile without them is refused."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from pspin_model.handlers import HandlerError, handler, helper, scratchpad
from pspin_model.machine import Machine


@numba.njit
def plain(array: Any, place: int) -> None:
    """No bounds are checked here."""
    array[place] = 5


@helper
def goes_on(h: int, place: int) -> None:
    """Call it for a handler."""
    plain(scratchpad(h, 0, np.int64), place)


@handler
def directly(h: int) -> None:
    """Write behind the end."""
    plain(scratchpad(h, 0, np.int64), 9)


@handler
def by_a_helper(h: int) -> None:
    """The same."""
    goes_on(h, 9)


@pytest.mark.parametrize("bad", [directly, by_a_helper])
def test_what_numba_compiles_alone_is_refused(bad: Any) -> None:
    with pytest.raises(HandlerError, match=f"{bad.name}: plain is compiled by numba alone: make it a helper"):
        Machine().context("bad", payload=bad)


@handler
def flat(h: int) -> None:
    """Write behind the end."""
    scratchpad(h, 0, np.int64).flat[9] = 3


@handler
def strided(h: int) -> None:
    """The same."""
    as_strided(scratchpad(h, 0, np.int64), (1000,), (8,))[500] = 3


@helper
def far(h: int) -> None:
    """The same."""
    np.lib.stride_tricks.as_strided(scratchpad(h, 0, np.int64), (1000,), (8,))[500] = 3


@handler
def strided_by_a_helper(h: int) -> None:
    """The same."""
    far(h)


@handler
def pointed(h: int) -> None:
    """The same."""
    numba.carray(scratchpad(h, 0, np.uint8).ctypes, 1000)[500] = 3


@pytest.mark.parametrize(
    ("bad", "what"), [(flat, "flat"), (strided, "as_strided"), (strided_by_a_helper, "as_strided"), (pointed, "carray")]
)
def test_views_without_bounds_are_refused(bad: Any, what: str) -> None:
    with pytest.raises(HandlerError, match=f"{bad.name}: no bounds are checked in .*{what}'"):
        Machine().context("bad", payload=bad)


def lists(h: int) -> None:
    """numba would make nothing of it."""
    scratchpad(h, 0, np.int64)[0] = len([i for i in range(4)])


def test_comprehensions_are_refused() -> None:
    with pytest.raises(HandlerError, match=r"lists: .*no comprehensions in a handler; write a loop"):
        handler(lists)
