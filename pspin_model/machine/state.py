"""A machine's state in compiled code: one address, from which each table is a view.

Passing thirty arrays to every function would make each call pass two hundred words, and take minutes to compile. So a
state is a pointer to a block of descriptors (address and shape of each table), and an attribute of it reads one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.extending import intrinsic, models, overload_attribute, register_model
from numpy.typing import NDArray

from pspin_model.machine.layout import BYTE_TABLES, TABLES
from pspin_model.machine.switching import bytes_at, words_at

WORDS = 4
"""Of a descriptor: address and up to three dimensions."""


class StateType(types.Opaque):  # type: ignore[misc]
    """numba's type of a state."""

    def __init__(self) -> None:
        super().__init__("netsum_pspin_state")


state_type = StateType()


@register_model(StateType)
class _StateModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, manager.lookup(types.int64).get_value_type())


@intrinsic
def state_at(context: Any, address: Any) -> Any:
    """The state whose descriptors begin at an address."""
    return state_type(types.int64), lambda context, builder, signature, values: values[0]


@intrinsic
def _address_of(context: Any, state: Any) -> Any:
    return types.int64(state_type), lambda context, builder, signature, values: values[0]


def _attribute(name: str, place: int, shape: tuple[int, ...]) -> None:
    first = place * WORDS
    rank = len(shape)
    fixed = shape[-1]
    one = name in BYTE_TABLES

    @overload_attribute(StateType, name, inline="never")
    def get(state: Any) -> Any:
        if rank == 1:

            def read(state: Any) -> Any:
                d = numba.carray(words_at(_address_of(state)), first + WORDS)
                n = fixed if fixed else d[first + 1]
                if one:
                    return numba.carray(bytes_at(d[first]), n, np.uint8)
                return numba.carray(words_at(d[first]), n)

        elif rank == 2:

            def read(state: Any) -> Any:
                d = numba.carray(words_at(_address_of(state)), first + WORDS)
                columns = fixed if fixed else d[first + 2]
                if one:
                    return numba.carray(bytes_at(d[first]), (d[first + 1], columns), np.uint8)
                return numba.carray(words_at(d[first]), (d[first + 1], columns))

        else:

            def read(state: Any) -> Any:
                d = numba.carray(words_at(_address_of(state)), first + WORDS)
                columns = fixed if fixed else d[first + 3]
                if one:
                    return numba.carray(bytes_at(d[first]), (d[first + 1], d[first + 2], columns), np.uint8)
                return numba.carray(words_at(d[first]), (d[first + 1], d[first + 2], columns))

        return read


for _place, (_name, _shape) in enumerate(TABLES.items()):
    _attribute(_name, _place, _shape)


def describe(tables: Mapping[str, NDArray[Any]], block: NDArray[np.int64]) -> None:
    """Write the descriptors of a machine's tables; they must stay alive and in place as long as the block is used."""
    for place, name in enumerate(TABLES):
        table = tables[name]
        assert table.flags.c_contiguous, name
        block[place * WORDS] = table.ctypes.data
        block[place * WORDS + 1 : place * WORDS + 1 + table.ndim] = table.shape
