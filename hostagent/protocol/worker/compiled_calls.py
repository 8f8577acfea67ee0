"""The worker core's large loops that are called by address, and a typed call for each.

numba compiles a function again into each of its callers, so these are compiled once and called through addresses in
the CORE record:

| call | function |
|---|---|
| ``fill_lanes`` | ``quantize_contribution.fill_lanes``; of a served operation ``served_lanes.fill_served`` |
| ``store_lanes`` | ``dequantize_result.store_lanes``; of a served operation ``served_lanes.store_served`` |

``operation`` is the address of the OPERATION record, ``part`` and ``index`` say which of its chunks (see ``plan``),
``lanes`` is the address of the frame's lanes.
"""

from __future__ import annotations

from typing import Any

from emulator.native.calls import call_compiled
from emulator.native.jit import njit


@njit(forceinline=True)
def fill_lanes(core: Any, is_served: Any, operation: int, part: int, index: int, lanes: int) -> Any:
    """Write a contribution's lanes; 0 when this rank has nothing to add, and the lanes are left as they were."""
    function = core.served_fill_function if is_served else core.fill_function
    return call_compiled(function, core.address, operation, part, index, lanes)


@njit(forceinline=True)
def store_lanes(core: Any, is_served: Any, operation: int, part: int, index: int, lanes: int) -> Any:
    """Take a result's lanes; not 0 where a rack server has refused the operation: its status."""
    function = core.served_store_function if is_served else core.store_function
    return call_compiled(function, core.address, operation, part, index, lanes)
