"""A collective operation: what a caller asks for, its REQUEST record, its hash, and what makes it illegal.

The process group makes an ``Operation``; the transport turns it with ``request_of`` into the record that the compiled
worker core reads (``worker.operations.core_submit``).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any
from zlib import crc32

import numpy as np

from emulator.native.jit import njit
from emulator.native.memory import record_at
from hostagent.protocol.dtypes import DType
from hostagent.protocol.quantizer.exact import whole_range_form, width_of
from hostagent.protocol.served import ANNOUNCEMENT_LANES, Announcement, ServedMemory


class OperationRefused(ValueError):
    """An operation that cannot be carried out; the message says which and what to do instead."""


class OperationKind(IntEnum):
    """What an aggregator does with the elements of an operation's virtual tensor."""

    SUM = 0
    MAX = 1
    MIN = 2
    RAW = 3
    """Every element comes from at most one rank and is moved unchanged."""
    BARRIER = 4
    """One chunk without data."""
    PUSH_PULL = 5
    """The first of those that only a rack server answers; they carry an announcement (see ``served``)."""
    PUSH = 6
    WRITE = 7
    PULL = 8
    QUERY = 9


@dataclass(frozen=True, slots=True)
class Span:
    """Part of an operation's virtual tensor in this rank's memory.

    Elements ``first`` to ``first + count - 1`` of the virtual tensor start at ``address``; the memory belongs to the
    caller and must stay valid until the operation has finished or its channel is closed.
    """

    address: int
    first: int
    count: int


NOTHING = Span(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Operation:
    """One collective over a virtual tensor of ``elements`` elements, the same on every rank of the job.

    A rank adds its ``input`` span and receives its ``output`` span. Every field but the two spans must agree between
    the ranks; when one does not, all ranks get an error that names both descriptions.
    """

    collective: str
    """The name the user called it by; goes into error messages."""
    kind: OperationKind
    dtype: str
    """The element type as torch names it (``float32``)."""
    element_bytes: int
    elements: int
    input: Span = NOTHING
    output: Span = NOTHING
    average: bool = False
    root: int = -1
    """The rank in the group that sends or receives alone; -1 when there is none."""
    exact: bool = False
    """Flag of a SUM of floats: the correctly rounded sum. float64 is summed so in any case."""
    packed: bool = False
    """Flag of a SUM of float16 or bfloat16: two elements in a lane, each with half its bits. Not where that is exact in
    one round trip, nor in jobs of more than ``quantizer.packed.LARGEST_JOB`` ranks."""
    served: ServedMemory | None = None
    """Announcement of an operation on a rack server's weights, and the memory for the server's answer."""
    unit: int = 0
    """A late rank may miss so many operations, this one first. 0: it may not miss it, or it is in another's unit."""
    memory: tuple[object, ...] = field(default=(), compare=False, repr=False)
    """Owners of the spans' memory, where the caller wants it kept alive until the operation has finished."""

    def describe(self) -> str:
        """The operation in the words of error messages: ``all_reduce(SUM, float32, 1024 elements)``."""
        parts = []
        if self.kind in (OperationKind.SUM, OperationKind.MAX, OperationKind.MIN):
            parts.append("AVG" if self.average else self.kind.name)
            if self.exact:
                parts.append("exact")
            if self.packed:
                parts.append("packed")
        if self.kind is not OperationKind.BARRIER:
            parts += [self.dtype, f"{self.elements} elements"]
        if self.root >= 0:
            parts.append(f"root {self.root}")
        if self.served is not None:
            parts.append(self.served.announcement.describe())
        return f"{self.collective}({', '.join(parts)})"

    def core_type(self) -> tuple[DType, int]:
        """The element type as the core names it, and how many of those make one element.

        A type that the core does not know is moved as bytes; raises OperationRefused where it is calculated with.
        """
        found = _CORE_TYPES.get(self.dtype)
        if found is not None:
            return found, 1
        if self.kind is not OperationKind.RAW:
            raise OperationRefused(f"{self.kind.name} of {self.dtype} is not supported")
        return DType.UINT8, self.element_bytes

    def tag(self) -> int:
        """What the hash takes of the operation's name, its root and its announcement."""
        named = _name_tag(self.collective, self.root)
        return named ^ self.served.tag if self.served else named


_CORE_TYPES = {dtype.name.lower(): dtype for dtype in DType}


@functools.lru_cache(maxsize=1024)
def _name_tag(collective: str, root: int) -> int:
    return crc32(f"{collective} {root}".encode())


def served_operation(
    announcement: Announcement,
    dtype: str,
    element_bytes: int,
    given: Span = NOTHING,
    output: Span = NOTHING,
    memory: tuple[object, ...] = (),
) -> Operation:
    """The operation that carries an announcement to a rack server. The type is of the rank's own memory."""
    return Operation(
        announcement.action.name.lower(),
        OperationKind[announcement.action.name],
        dtype,
        element_bytes,
        announcement.elements,
        given,
        output,
        served=ServedMemory(announcement),
        memory=memory,
    )


# --- the record ---

REQUEST = np.dtype(
    [
        (name, np.int64)
        for name in (
            *("kind", "dtype", "elements", "average", "exact", "packed", "tag", "announcement"),
            *("input_address", "input_first", "input_count", "output_address", "output_first", "output_count"),
            "scratch_address",
        )
    ],
    align=True,
)
"""An operation as the worker core takes it: counts in elements of the core's type, addresses of the rank's memory."""

request_at = record_at(REQUEST)


def request_of(operation: Operation, scratch_address: int) -> tuple[int, ...]:
    """The values of an operation's REQUEST record; assign them to an element of a REQUEST array."""
    dtype, factor = operation.core_type()
    given, output = operation.input, operation.output
    return (  # in the order of the record's fields
        int(operation.kind),
        int(dtype),
        operation.elements * factor,
        int(operation.average),
        int(operation.exact),
        int(operation.packed),
        operation.tag(),
        operation.served.address if operation.served else 0,
        given.address,
        given.first * factor,
        given.count * factor,
        output.address,
        output.first * factor,
        output.count * factor,
        scratch_address,
    )


# --- the hash ---


@njit
def mix(held: int, value: int) -> int:
    """One step of a 32-bit FNV-1a over the eight bytes of a value."""
    for i in range(8):
        held = ((held ^ ((value >> (8 * i)) & 0xFF)) * 0x01000193) & 0xFFFFFFFF
    return held


@njit
def operation_hash(
    kind: int, dtype: int, elements: int, average: int, exact: int, packed: int, tag: int, sequence: int
) -> int:
    """The 32 bits that travel in every frame of an operation and must agree between the ranks."""
    held = 0x811C9DC5
    for value in (kind, dtype, elements, average + 2 * exact + 4 * packed, tag, sequence):
        held = mix(held, value)
    return held


def hash_of(operation: Operation, sequence: int) -> int:
    """``operation_hash`` of the job's operation number ``sequence``."""
    dtype, factor = operation.core_type()
    flags = (int(operation.average), int(operation.exact), int(operation.packed))
    elements = operation.elements * factor
    return int(operation_hash(int(operation.kind), int(dtype), elements, *flags, operation.tag(), sequence))


# --- legality ---

LEGAL, UNKNOWN, BAD_SERVED, BAD_AVERAGE, BAD_INPUT, BAD_OUTPUT, NO_SCRATCH, BAD_EXACT, NARROW, BAD_PACKED = range(10)
"""What ``legality`` returns; ``refusal_text`` has the sentences."""

_SUM, _MIN, _RAW = int(OperationKind.SUM), int(OperationKind.MIN), int(OperationKind.RAW)
_BARRIER, _LAST_KIND = int(OperationKind.BARRIER), int(OperationKind.QUERY)
_LAST_SMALL_FLOAT, _FLOAT64, _INT64 = int(DType.BFLOAT16), int(DType.FLOAT64), int(DType.INT64)
_BOOL, _FLOAT16 = int(DType.BOOL), int(DType.FLOAT16)


@njit
def legality(request: Any, lanes: int, workers: int) -> Any:
    """LEGAL, or why a job of so many workers cannot carry out a REQUEST's operation with frames of ``lanes`` lanes."""
    kind, dtype = request.kind, request.dtype
    if kind < _SUM or kind > _LAST_KIND or dtype < 0 or dtype > _BOOL or request.elements < 0:
        return UNKNOWN
    if kind > _BARRIER and (request.announcement == 0 or dtype > _LAST_SMALL_FLOAT or lanes < ANNOUNCEMENT_LANES):
        return BAD_SERVED
    calculates = kind < _RAW
    is_float_sum = kind == _SUM and dtype <= _FLOAT64
    if request.average and kind != _SUM:
        return BAD_AVERAGE
    if request.exact and not is_float_sum:
        return BAD_EXACT
    if request.packed and (kind != _SUM or request.exact or dtype < _FLOAT16 or dtype > _LAST_SMALL_FLOAT):
        return BAD_PACKED
    if is_float_sum and (request.exact or dtype == _FLOAT64) and lanes < exact_lanes(dtype, workers):
        return NARROW
    first, count = request.input_first, request.input_count
    if first < 0 or count < 0 or first + count > request.elements:
        return BAD_INPUT
    first, count = request.output_first, request.output_count
    if first < 0 or count < 0 or first + count > request.elements:
        return BAD_OUTPUT
    if calculates and kind != _SUM and dtype in (_INT64, _FLOAT64) and request.input_count > 0:
        # the second pass reads what the first left in the output memory
        end = request.input_first + request.input_count
        if request.output_first > request.input_first or end > request.output_first + request.output_count:
            return NO_SCRATCH
    return LEGAL


@njit
def exact_lanes(dtype: int, workers: int) -> Any:
    """Lanes that an exact sum's frames must have: those of one element, whatever its size."""
    workers_log2 = 0
    while 1 << workers_log2 < workers:
        workers_log2 += 1
    return width_of(dtype, whole_range_form(dtype, workers, workers_log2), workers)


@njit
def legality_at(address: int, lanes: int, workers: int) -> Any:
    """``legality`` of the REQUEST record at an address."""
    return legality(request_at(address), lanes, workers)


def refusal_text(operation: Operation, reason: int) -> str:
    """What ``legality`` returned, in a sentence for the user."""
    kind, dtype = operation.kind.name, operation.dtype
    given, output, elements = operation.input, operation.output, operation.elements
    return {
        UNKNOWN: f"{kind} of {elements} elements of {dtype} is not an operation",
        BAD_SERVED: f"{kind} takes an announcement, float32, float16 or bfloat16 memory (not {dtype}), and frames of "
        f"at least {ANNOUNCEMENT_LANES} lanes",
        BAD_AVERAGE: f"an average is a SUM that is divided, not a {kind}",
        BAD_INPUT: f"input has elements {given.first} to {given.first + given.count} of an operation of {elements}",
        BAD_OUTPUT: f"output has elements {output.first} to {output.first + output.count} of an operation of "
        f"{elements}",
        NO_SCRATCH: f"MIN and MAX of {dtype} need output memory (scratch will do) for all of the input",
        BAD_EXACT: f"only sums of floats can be exact, not {kind} of {dtype}",
        BAD_PACKED: f"only sums of float16 and bfloat16 that are not exact can be packed, not {kind} of {dtype}",
        NARROW: f"an exact sum of {dtype} needs an aggregator with more lanes in a frame for this number of ranks "
        "(256 are enough)",
    }[reason]
