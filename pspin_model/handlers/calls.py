"""What a handler asks of the machine around its core: every call here but `fail` is a point of order."""

from __future__ import annotations

from typing import Any

from numba.core import types

from emulator.native.jit import njit
from pspin_model.handlers.core import argue, charge, checked, costs, fault, row, spend, stop
from pspin_model.handlers.errors import HandlerError
from pspin_model.handlers.memory import address_of, allowed, contiguous
from pspin_model.handlers.overloads import overloaded
from pspin_model.machine.costs import LOCK
from pspin_model.machine.layout import (
    FAULT_BAD_COMMAND,
    FAULT_HANDLER,
    FAULT_MEMORY,
    FAULT_STRIDED,
    H_SEGMENT,
    OP_ATOMIC,
    OP_COPY,
    OP_COPY_TEST,
    OP_COPY_WAIT,
    OP_FROM_HOST,
    OP_HOST_WORD,
    OP_LOCK,
    OP_READ_LOCK,
    OP_READ_UNLOCK,
    OP_SEND,
    OP_TEST,
    OP_TO_HOST,
    OP_TRY_LOCK,
    OP_UNLOCK,
    OP_WAIT,
    OP_YIELD,
)

COMMAND_REGISTERS = 7
"""Words of a command written to its registers, and the load that issues it."""


@njit(internal=True)
def yield_core(h: int) -> None:
    """Let the charged cycles pass."""
    stop(h, OP_YIELD)


@njit(internal=True)
def now(h: int) -> int:
    """The cycle."""
    stop(h, OP_YIELD)
    return int(row(h)[H_SEGMENT])


@njit(internal=True)
def fail(h: int, code: int) -> None:
    """End the handler with the given error code; does not return."""
    fault(h, FAULT_HANDLER, code)


@njit(internal=True)
def lock(h: int, index: int) -> None:
    """Take lock ``index`` of the context, waiting for it (first come, first served)."""
    spend(h, costs(h)[LOCK], 4, 1)
    argue(h, 0, index)
    stop(h, OP_LOCK)


@njit(internal=True)
def try_lock(h: int, index: int) -> bool:
    """Take the lock if it is free."""
    spend(h, costs(h)[LOCK], 4, 1)
    argue(h, 0, index)
    return bool(stop(h, OP_TRY_LOCK) != 0)


@njit(internal=True)
def unlock(h: int, index: int) -> None:
    """Give the lock back; a fault if this core does not hold it."""
    charge(h, store=1)
    argue(h, 0, index)
    stop(h, OP_UNLOCK)


@njit(internal=True)
def write_lock(h: int, index: int) -> None:
    """Take a reader-writer lock alone."""
    lock(h, index)


@njit(internal=True)
def write_unlock(h: int, index: int) -> None:
    """Give back what `write_lock` took."""
    unlock(h, index)


@njit(internal=True)
def read_lock(h: int, index: int) -> None:
    """Take a reader-writer lock together with other readers."""
    spend(h, costs(h)[LOCK], 4, 1)
    argue(h, 0, index)
    stop(h, OP_READ_LOCK)


@njit(internal=True)
def read_unlock(h: int, index: int) -> None:
    """Give back what `read_lock` took."""
    charge(h, atomic=1, branch=1, alu=1)
    argue(h, 0, index)
    stop(h, OP_READ_UNLOCK)


@overloaded
def one_axis(array: Any) -> Any:
    """``array``, an index of which is an element."""
    if not isinstance(array, types.Array) or array.ndim != 1 or not isinstance(array.dtype, types.Number):
        raise HandlerError(f"an atomic is on an element of a view of numbers with one axis, not on {array}")
    return lambda array: array


@checked
def atomic_add(h: int, array: Any, index: int, value: Any) -> Any:
    """array[index] += value at one moment; returns what was there."""
    charge(h, atomic=1)
    stop(h, OP_ATOMIC)
    old = one_axis(array)[index]
    array[index] = old + value
    return old


@njit(internal=True)
def atomic_add_elements(h: int, array: Any, values: Any) -> None:
    """array[i] += values[i] for all of ``values``, each by its own atomic, all at one moment.

    Charges nothing: the loop's instructions are the caller's to declare.
    """
    stop(h, OP_ATOMIC)
    if values.size > array.size:
        raise IndexError("atomic_add_elements: more values than places")
    one_axis(array)[: values.size] += one_axis(values)


@checked
def atomic_max(h: int, array: Any, index: int, value: Any) -> Any:
    """array[index] = max(array[index], value) at one moment; returns what was there."""
    charge(h, atomic=1)
    stop(h, OP_ATOMIC)
    old = one_axis(array)[index]
    array[index] = max(old, value)
    return old


@checked
def atomic_min(h: int, array: Any, index: int, value: Any) -> Any:
    """array[index] = min(array[index], value) at one moment; returns what was there."""
    charge(h, atomic=1)
    stop(h, OP_ATOMIC)
    old = one_axis(array)[index]
    array[index] = min(old, value)
    return old


@checked
def atomic_swap(h: int, array: Any, index: int, value: Any) -> Any:
    """array[index] = value at one moment; returns what was there."""
    charge(h, atomic=1)
    stop(h, OP_ATOMIC)
    old = one_axis(array)[index]
    array[index] = value
    return old


@checked
def atomic_or(h: int, array: Any, index: int, value: Any) -> Any:
    """array[index] |= value at one moment; returns what was there."""
    charge(h, atomic=1)
    stop(h, OP_ATOMIC)
    old = one_axis(array)[index]
    array[index] = old | value
    return old


@checked
def atomic_and(h: int, array: Any, index: int, value: Any) -> Any:
    """array[index] &= value at one moment; returns what was there."""
    charge(h, atomic=1)
    stop(h, OP_ATOMIC)
    old = one_axis(array)[index]
    array[index] = old & value
    return old


@njit(internal=True)
def _own(h: int, op: int, array: Any) -> int:
    """Address of a view that a command may move."""
    if not contiguous(array):
        fault(h, FAULT_STRIDED, op)
    address = int(address_of(array))
    if not allowed(h, address, array.size * array.itemsize):
        fault(h, FAULT_MEMORY, address)
    return address


@njit(internal=True)
def dma(h: int, target: Any, source: Any) -> int:
    """Start a copy between views of one size (L2 <-> L1); bytes move when it completes. Returns a handle."""
    charge(h, register=COMMAND_REGISTERS)
    if target.size * target.itemsize != source.size * source.itemsize:
        fault(h, FAULT_BAD_COMMAND, OP_COPY)
    argue(h, 0, _own(h, OP_COPY, target))
    argue(h, 1, _own(h, OP_COPY, source))
    argue(h, 2, source.size * source.itemsize)
    return int(stop(h, OP_COPY))


@njit(internal=True)
def dma_wait(h: int, handle: int) -> None:
    """Wait for a copy."""
    argue(h, 0, handle)
    stop(h, OP_COPY_WAIT)


@njit(internal=True)
def dma_test(h: int, handle: int) -> bool:
    """Whether a copy is complete."""
    charge(h, register=1)
    argue(h, 0, handle)
    return bool(stop(h, OP_COPY_TEST) != 0)


@njit(internal=True)
def send_packet(h: int, data: Any, tag: int, port: int) -> int:
    """Send the bytes of a view to the network; ``tag`` and ``port`` go with them. Returns a handle for `wait`."""
    charge(h, register=COMMAND_REGISTERS)
    argue(h, 0, _own(h, OP_SEND, data))
    argue(h, 1, data.size * data.itemsize)
    argue(h, 2, tag)
    argue(h, 3, port)
    return int(stop(h, OP_SEND))


@njit(internal=True)
def copy_to_host(h: int, data: Any, host_offset: int) -> int:
    """Copy a view to the context's host memory. Returns a handle for `wait`."""
    charge(h, register=COMMAND_REGISTERS)
    argue(h, 0, _own(h, OP_TO_HOST, data))
    argue(h, 1, data.size * data.itemsize)
    argue(h, 2, host_offset)
    return int(stop(h, OP_TO_HOST))


@njit(internal=True)
def copy_from_host(h: int, data: Any, host_offset: int) -> int:
    """Fill a view from the context's host memory. Returns a handle for `wait`."""
    charge(h, register=COMMAND_REGISTERS)
    argue(h, 0, _own(h, OP_FROM_HOST, data))
    argue(h, 1, data.size * data.itemsize)
    argue(h, 2, host_offset)
    return int(stop(h, OP_FROM_HOST))


@njit(internal=True)
def write_to_host(h: int, host_offset: int, value: int) -> int:
    """Write a 64-bit word to the context's host memory. Returns a handle for `wait`."""
    charge(h, register=COMMAND_REGISTERS)
    argue(h, 0, host_offset)
    argue(h, 1, value)
    return int(stop(h, OP_HOST_WORD))


@njit(internal=True)
def wait(h: int, handle: int) -> None:
    """Wait for a command."""
    argue(h, 0, handle)
    stop(h, OP_WAIT)


@njit(internal=True)
def test(h: int, handle: int) -> bool:
    """Whether a command is complete."""
    charge(h, register=2)
    argue(h, 0, handle)
    return bool(stop(h, OP_TEST) != 0)
