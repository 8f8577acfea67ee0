"""Handlers on the PsPIN model have no way around the checks: what numba would compile without them is refused."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

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
