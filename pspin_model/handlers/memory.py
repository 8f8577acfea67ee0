"""A handler's memories as NumPy views, and who it is."""

from __future__ import annotations

from typing import Any

from numba.core import types

from emulator.native.jit import njit
from pspin_model.handlers.core import fault, row
from pspin_model.handlers.overloads import overloaded
from pspin_model.machine.layout import (
    FAULT_MEMORY,
    FAULT_NO_CLUSTER,
    H_CLUSTER,
    H_CLUSTERS,
    H_CORE,
    H_HANDLER_MEMORY,
    H_HANDLER_MEMORY_BYTES,
    H_HOME,
    H_MESSAGE,
    H_PACKET_ADDRESS,
    H_PACKET_BYTES,
    H_PACKET_L2,
    H_PLACE,
    H_SCRATCH,
    H_SCRATCH_BYTES,
    H_SOURCE,
    H_TAG,
)
from pspin_model.machine.switching import bytes_at, carray

MOST_ELEMENTS = 1 << 40
"""Most elements of a view: their bytes can be counted in a word."""


@njit(internal=True)
def core(h: int) -> int:
    """Number of the core, through all clusters."""
    return int(row(h)[H_CORE])


@njit(internal=True)
def cluster(h: int) -> int:
    """Number of the cluster."""
    return int(row(h)[H_CLUSTER])


@njit(internal=True)
def clusters(h: int) -> int:
    """How many clusters there are."""
    return int(row(h)[H_CLUSTERS])


@njit(internal=True)
def core_in_cluster(h: int) -> int:
    """Number of the core in its cluster."""
    return int(row(h)[H_PLACE])


@njit(internal=True)
def message(h: int) -> int:
    """Number of the packet's message."""
    return int(row(h)[H_MESSAGE])


@njit(internal=True)
def home_cluster(h: int) -> int:
    """The message's home cluster."""
    return int(row(h)[H_HOME])


@njit(internal=True)
def tag(h: int) -> int:
    """The 64 bits given with the packet at `Machine.inject`."""
    return int(row(h)[H_TAG])


@njit(internal=True)
def source(h: int) -> int:
    """The source (port, child) given with the packet."""
    return int(row(h)[H_SOURCE])


@njit(internal=True)
def packet_bytes(h: int) -> int:
    """Length of the packet."""
    return int(row(h)[H_PACKET_BYTES])


@njit(internal=True)
def view(address: int, size: int, dtype: Any) -> Any:
    """``size`` bytes at an address as whole elements."""
    one = carray(bytes_at(address), 1, dtype)
    return carray(bytes_at(address), size // one.itemsize, dtype)


@njit(internal=True)
def packet(h: int, dtype: Any) -> Any:
    """The packet's copy in L1."""
    r = row(h)
    return view(r[H_PACKET_ADDRESS], r[H_PACKET_BYTES], dtype)


@njit(internal=True)
def packet_l2(h: int, dtype: Any) -> Any:
    """The packet in L2 packet memory."""
    r = row(h)
    return view(r[H_PACKET_L2], r[H_PACKET_BYTES], dtype)


@njit(internal=True)
def scratchpad(h: int, number: int, dtype: Any) -> Any:
    """The context's scratchpad in the L1 of cluster ``number``."""
    r = row(h)
    if number < 0 or number >= r[H_CLUSTERS]:
        fault(h, FAULT_NO_CLUSTER, number)
    return view(r[H_SCRATCH] + number * r[H_SCRATCH_BYTES], r[H_SCRATCH_BYTES], dtype)


@njit(internal=True)
def handler_memory(h: int, dtype: Any) -> Any:
    """The context's L2 handler memory."""
    r = row(h)
    return view(r[H_HANDLER_MEMORY], r[H_HANDLER_MEMORY_BYTES], dtype)


@njit(internal=True)
def address_of(array: Any) -> int:
    """Address of a view's first byte."""
    return int(array.ctypes.data)


@overloaded
def contiguous(array: Any) -> Any:
    """Whether a view's elements are adjacent and in order, as a command moves them."""
    if not isinstance(array, types.Array):
        return None
    if array.layout == "C":
        return lambda array: True
    if array.ndim == 1:
        return lambda array: array.size < 2 or array.strides[0] == array.itemsize
    return lambda array: False


@njit(internal=True)
def _within(address: int, size: int, start: int, room: int) -> bool:
    return 0 <= size <= room and 0 <= address - start <= room - size


@njit(internal=True)
def allowed(h: int, address: int, size: int) -> bool:
    """Whether all of ``size`` bytes are in one of the context's own memories, as the PMP entries of a task say."""
    r = row(h)
    return bool(
        _within(address, size, r[H_PACKET_ADDRESS], r[H_PACKET_BYTES])
        or _within(address, size, r[H_PACKET_L2], r[H_PACKET_BYTES])
        or _within(address, size, r[H_SCRATCH], r[H_SCRATCH_BYTES] * r[H_CLUSTERS])
        or _within(address, size, r[H_HANDLER_MEMORY], r[H_HANDLER_MEMORY_BYTES])
    )


@njit(internal=True)
def memory(h: int, address: int, count: int, dtype: Any) -> Any:
    """``count`` elements at a raw address; outside the context's own memories: a fault."""
    one = carray(bytes_at(address), 1, dtype)
    if count > MOST_ELEMENTS or not allowed(h, address, count * one.itemsize):
        fault(h, FAULT_MEMORY, address)
    return carray(bytes_at(address), count, dtype)
