"""A machine's state in compiled code: one address, from which each table is a view.

Passing thirty arrays to every function would make each call pass two hundred words, and take minutes to compile. So a
state is a pointer to a block of descriptors (address and shape of each table), and an attribute of it reads one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils as untyped_cgutils
from numba.core import types
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import lower_getattr_generic, models, register_model
from numba.np import arrayobj as untyped_arrayobj
from numpy.typing import NDArray

from pspin_model.machine.layout import BYTE_TABLES, TABLES
from pspin_model.machine.switching import I8, I64, machine_code

arrayobj: Any = untyped_arrayobj
cgutils: Any = untyped_cgutils

WORDS = 4
"""Words of a descriptor: address and up to three dimensions."""


class StateType(types.Opaque):
    """numba's type of a state."""

    def __init__(self) -> None:
        super().__init__("netsum_pspin_state")


state_type = StateType()


@register_model(StateType)
class _StateModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, manager.lookup(types.int64).get_value_type())  # type: ignore[no-untyped-call]


@machine_code
def state_at(context: Any, address: Any) -> Any:
    """The state with descriptors that begin at an address."""
    return state_type(types.int64), lambda context, builder, signature, values: values[0]


@machine_code
def row_at(context: Any, table: Any, row: Any) -> Any:
    """A row of a two-dimensional table, unchecked."""
    array = types.Array(table.dtype, 1, "C")

    def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.args[0]
        whole = arrayobj.make_array(kind)(context, builder, values[0])
        columns = cgutils.unpack_tuple(builder, whole.shape)[1]
        start = builder.gep(whole.data, [builder.mul(values[1], columns)])
        return _array(context, builder, signature.return_type, start, [columns])

    return array(table, types.int64), lower


def _array(context: Any, builder: Any, kind: Any, data: Any, shape: list[Any]) -> Any:
    """A contiguous array over memory that nobody counts."""
    result = arrayobj.make_array(kind)(context, builder)
    item = ir.Constant(I64, 1 if kind.dtype == types.uint8 else 8)
    strides = [item]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    arrayobj.populate_array(result, data, shape, strides, item, None)
    return result._getvalue()


@infer_getattr
class _Tables(AttributeTemplate):
    key = StateType

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        if name not in TABLES:
            return None
        return types.Array(types.uint8 if name in BYTE_TABLES else types.int64, len(TABLES[name]), "C")


@lower_getattr_generic(StateType)  # type: ignore[no-untyped-call, untyped-decorator]
def _read_table(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    place, shape = list(TABLES).index(name), TABLES[name]
    array = types.Array(types.uint8 if name in BYTE_TABLES else types.int64, len(shape), "C")
    words = builder.inttoptr(value, I64.as_pointer())

    def word(index: int) -> Any:
        return builder.load(builder.gep(words, [ir.Constant(I64, place * WORDS + index)]))

    extents = [ir.Constant(I64, known) if known else word(axis + 1) for axis, known in enumerate(shape)]
    item = I8 if name in BYTE_TABLES else I64
    return _array(context, builder, array, builder.inttoptr(word(0), item.as_pointer()), extents)


def describe(tables: Mapping[str, NDArray[Any]], block: NDArray[np.int64]) -> None:
    """Write the descriptors of a machine's tables; they must stay alive and in place as long as the block is used."""
    for place, name in enumerate(TABLES):
        table = tables[name]
        assert table.flags.c_contiguous, name
        block[place * WORDS] = table.ctypes.data
        block[place * WORDS + 1 : place * WORDS + 1 + table.ndim] = table.shape
