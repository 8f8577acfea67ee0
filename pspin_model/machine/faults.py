"""Errors of handlers, as people read them: which handler, which packet, which cycle, and what it did."""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numba
import numpy as np
from numpy.typing import NDArray

from emulator.native.jit_cache import PACKAGES, ROOT
from pspin_model.machine import layout as at
from pspin_model.machine.costs import ELEMENTS

KINDS = {
    at.FAULT_EXCEPTION: "exception",
    at.FAULT_MEMORY: "memory",
    at.FAULT_NEVER_RETURNS: "never returns",
    at.FAULT_LOCK_HELD: "lock held",
    at.FAULT_LOCK_WAIT: "lock wait",
    at.FAULT_BAD_LOCK: "bad lock",
    at.FAULT_NOT_HOLDER: "not the holder",
    at.FAULT_BAD_COMMAND: "bad command",
    at.FAULT_HANDLER: "handler's own",
    at.FAULT_BAD_CHARGE: "bad declaration",
    at.FAULT_NO_PRICE: "bad declaration",
    at.FAULT_TURNS: "never returns",
    at.FAULT_NO_CLUSTER: "memory",
    at.FAULT_STRIDED: "bad command",
}

COMMANDS = {at.OP_SEND: "send_packet", at.OP_TO_HOST: "copy_to_host", at.OP_FROM_HOST: "copy_from_host",
            at.OP_HOST_WORD: "write_to_host", at.OP_COPY: "dma"}  # fmt: skip
WAITS = {at.OP_WAIT: "wait", at.OP_TEST: "test", at.OP_COPY_WAIT: "dma_wait", at.OP_COPY_TEST: "dma_test"}


class _Named(Protocol):
    def handler_name(self, kind: int) -> str: ...


@dataclass(frozen=True, slots=True)
class Fault:
    """A handler's error. The handler ended there; the machine went on."""

    kind: str
    handler: str
    message: int
    packet: int
    """Running number of the packet since the machine was made."""
    core: int
    cycle: int
    text: str

    def __str__(self) -> str:
        return (
            f"{self.handler}, message {self.message}, packet {self.packet}, core {self.core}, cycle {self.cycle}: "
            f"{self.text}"
        )


class PlacedIndexError(IndexError):
    """An index of a handler's beyond its view: the index, the elements there are, and the place in the source."""

    def __str__(self) -> str:
        index, size, place = self.args
        return f"index {index} is out of bounds of {size} element{'s' if size != 1 else ''} ({place})"


class PlacedDivisionError(ZeroDivisionError):
    """A handler's division of a number by zero: the place in the source."""

    def __str__(self) -> str:
        return f"division by zero ({self.args[0]})"


PLACED = (PlacedIndexError, PlacedDivisionError)
"""They know their place themselves, and are shown by the names of what they are."""


def read_faults(
    rows: NDArray[np.int64], contexts: Sequence[_Named], place_of: Callable[[int, int], str]
) -> list[Fault]:
    """The engine's rows of faults in words; ``place_of(address, context)`` names the memory of an address."""
    return [
        Fault(
            kind=KINDS[int(row[0])],
            handler=contexts[int(row[2])].handler_name(int(row[3])),
            message=int(row[4]),
            packet=int(row[5]),
            core=int(row[6]),
            cycle=int(row[7]),
            text=_memory_text(place_of(int(row[1]), int(row[2])))
            if row[0] == at.FAULT_MEMORY
            else _text(int(row[0]), int(row[1]), int(row[8])),
        )
        for row in rows
    ]


def _memory_text(place: str) -> str:
    return f"{place} is not in the context's memories, or not all of the accessed bytes are"


def _text(kind: int, value: int, exception: int) -> str:
    if kind == at.FAULT_EXCEPTION:
        return _exception_text(exception)
    if kind == at.FAULT_NO_CLUSTER:
        return f"there is no cluster {value}"
    if kind == at.FAULT_NEVER_RETURNS:
        return "did not return within handler_limit cycles: ended"
    if kind == at.FAULT_TURNS:
        return "did not return within loop_limit turns of its loops: ended"
    if kind == at.FAULT_STRIDED:
        return f"{COMMANDS[value]}: the view has gaps (a step?); views of commands must be contiguous"
    if kind == at.FAULT_LOCK_HELD:
        return f"returned holding {value} lock{'s' if value != 1 else ''}: never given back"
    if kind == at.FAULT_LOCK_WAIT:
        return f"waited handler_limit cycles for a lock last taken by core {value}, which never gave it back: ended"
    if kind == at.FAULT_BAD_LOCK:
        return f"lock {value} does not exist: declare locks= at Machine.context"
    if kind == at.FAULT_NOT_HOLDER:
        return f"gave back lock {value}, which it does not hold"
    if kind == at.FAULT_BAD_COMMAND and value == at.OP_COPY:
        return "dma: target and source differ in length"
    if kind == at.FAULT_BAD_COMMAND and value in WAITS:
        made = "by dma" if value in (at.OP_COPY_WAIT, at.OP_COPY_TEST) else "by a command"
        return f"{WAITS[value]}: this core was given no such handle {made}"
    if kind == at.FAULT_BAD_COMMAND and value == at.OP_SEND:
        return "send_packet: a packet has 1 to max_packet_bytes bytes, a port 32 bits"
    if kind == at.FAULT_BAD_COMMAND:
        return f"{COMMANDS[value]}: nothing to copy, or a host range beyond host_bytes (of Machine.context)"
    if kind == at.FAULT_HANDLER:
        return f"failed with code {value}"
    if kind == at.FAULT_NO_PRICE:
        return f"the cost table has no price for elements of {ELEMENTS[value]}"
    return f"charged a negative amount ({value}): a wrong declaration"


DYNAMIC_ARGUMENTS, DYNAMIC_READER, DYNAMIC_COUNT = 16, 24, 32
"""Offsets in numba's record of an exception: its arguments that were reckoned, the function that makes Python objects
of them, how many they are. They follow the address and the length of a pickled tuple."""
LIBRARIES = (Path(str(numba.__file__)).resolve().parent, *(ROOT / package for package in PACKAGES))
"""Packages that a handler's author did not write: their lines are left out of a fault's text. Whole paths are compared,
as a user's folder may have one of these names."""


def _exception_text(address: int) -> str:
    """What numba raised."""
    try:
        data = ctypes.c_void_p.from_address(address).value if address else None
        size = ctypes.c_int32.from_address(address + 8).value
        if data is None:
            return "an exception"
        raised: Any = pickle.loads(ctypes.string_at(data, size))
        kind, arguments = raised[0], list(raised[1] or ())
        if issubclass(kind, PLACED):
            return f"{kind.__base__.__name__}: {kind(*_reckoned(arguments, address))}"
        where = raised[2] if len(raised) > 2 else None
        return f"{kind.__name__}{_arguments_text(arguments, address)}{_place(where)}"
    except (ValueError, TypeError, IndexError, AttributeError, ImportError, pickle.UnpicklingError):
        return "an exception"


def _arguments_text(arguments: list[Any], address: int) -> str:
    """Arguments of an exception, as text."""
    text = ", ".join(str(each).partition("\n")[0] for each in _reckoned(arguments, address))  # numba adds its locations
    return f": {text}" if text else ""


def _reckoned(arguments: list[Any], address: int) -> list[Any]:
    """Arguments of an exception; those that were computed are llvmlite's values in ``arguments``."""
    if not ctypes.c_int32.from_address(address + DYNAMIC_COUNT).value:
        return arguments
    reader = ctypes.c_void_p.from_address(address + DYNAMIC_READER).value
    values = ctypes.c_void_p.from_address(address + DYNAMIC_ARGUMENTS).value
    given = iter(ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(reader or 0)(values))
    return [next(given) if type(each).__module__.startswith("llvmlite") else each for each in arguments]


def _place(where: Any) -> str:
    """File and line of the user's code that raised it."""
    if not where:
        return ""
    path = Path(where[1]).resolve()
    return "" if any(path.is_relative_to(library) for library in LIBRARIES) else f" ({path.name}:{where[2]})"
