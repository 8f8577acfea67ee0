"""Bounds checks of indices, so that a fault reports index, size and source line; numba's own check, which reports
none of them, stays enabled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types as untyped_types

from pspin_model.handlers.overloads import defined, overloaded
from pspin_model.machine.faults import PlacedIndexError

types: Any = untyped_types
"""numba's types, which have no annotations."""


def _integers(index: Any) -> tuple[Any, ...] | None:
    """The types of an index's parts; None if one of them is not an integer."""
    parts = tuple(index.types) if isinstance(index, types.BaseTuple) else (index,)
    return parts if all(isinstance(each, types.Integer) for each in parts) else None


def checks_of(array: Any, index: Any) -> str:
    """Statements that check ``index`` against the axes of ``array``, generated for their types; empty where
    ``index`` does not select an element of a view."""
    parts = _integers(index)
    if not isinstance(array, types.Array) or parts is None or len(parts) > array.ndim:
        return ""
    text = ""
    for axis, part in enumerate(parts):
        at = f"index[{axis}]" if isinstance(index, types.BaseTuple) else "index"
        size = f"array.shape[{axis}]"
        inside = f"0 <= {at} + {size} < 2 * {size}" if part.signed else f"{at} < np.uint64({size})"
        text += f"    if not {inside}:\n        raise PlacedIndexError({at}, {size}, place)\n"
    return text


def _checking(array: Any, index: Any, returned: str) -> Any:
    text = f"def implement(array, index, place):\n{checks_of(array, index)}    return {returned}\n"
    return defined(text, {"np": np, "PlacedIndexError": PlacedIndexError})


@overloaded
def inside(array: Any, index: Any, place: Any) -> Any:
    """``index``, if it is within ``array``, else PlacedIndexError; ``place`` identifies its line of the source."""
    return _checking(array, index, "index")


@overloaded
def having(array: Any, index: Any, place: Any) -> Any:
    """``array``, if it has ``index``, a constant in the source; else PlacedIndexError."""
    return _checking(array, index, "array")
