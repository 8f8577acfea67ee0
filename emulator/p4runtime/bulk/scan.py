"""Reads many updates of a WriteRequest straight from its bytes, without making a message of each.

Looking at a protobuf message from Python costs more than all else that an update needs. So a compiled loop walks the
bytes once and takes every update apart that has nothing but what is listed in `bulk_paths`: its *shape* (which fields
are there, in which order, with which ids) and its *values*. Updates with anything else are marked, and read as
messages.
The bytes have been parsed by protobuf before, so they are well-formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.jit import njit
from emulator.native.p4protos import p4runtime_pb2
from emulator.p4runtime.bulk.paths import BYTES, ID, LONG, MESSAGE, OPAQUE, PATHS, WIDE

ROWS = 4096
"""Updates taken apart at a time."""
ROOM = 1 << 18
"""Elements of shapes, and values, in that many; an update that has more is read as a message."""

FIELDS = 16
"""Field numbers below this fit a tag of one byte."""
NARROW_BYTES = 7


def _steps() -> NDArray[np.int32]:
    """[code of a message, field number] -> kind << 8 | code, 0 where the field is not listed."""
    steps = np.zeros((len(PATHS) + 1, FIELDS), np.int32)
    messages: dict[str, tuple[int, Any]] = {"": (0, p4runtime_pb2.WriteRequest.DESCRIPTOR)}
    for code, (path, kind) in enumerate(PATHS.items(), 1):
        parent, _, name = path.rpartition(".")
        owner, descriptor = messages[parent]
        field = descriptor.fields_by_name[name]
        steps[owner, field.number] = kind << 8 | code
        if kind == MESSAGE:
            messages[path] = (code, field.message_type)
    return steps


STEPS = _steps()


@dataclass(frozen=True, slots=True)
class Updates:
    """Some updates of a request, in their order."""

    is_plain: NDArray[np.bool_]
    """Whether there is nothing in it that is not listed."""
    shape_starts: NDArray[np.int64]
    """[updates + 1]: where in ``shapes`` each one's begins. A shape is the codes in the order of the bytes; behind that
    of an ID stands its value."""
    value_starts: NDArray[np.int64]
    is_like_last: NDArray[np.bool_]
    """Whether the shape is that of the update before."""
    shapes: NDArray[np.int32]
    values: NDArray[np.int64]
    end: int
    """Where in the request the next one may be."""


def scan(data: NDArray[np.uint8], start: int) -> Updates:
    """The updates from a place between two fields of a WriteRequest on; none at its end."""
    shapes, values = np.empty(ROOM, np.int32), np.empty(ROOM, np.int64)
    flags = np.zeros((2, ROWS), np.bool_)
    starts = np.zeros((2, ROWS + 1), np.int64)
    count, end = map(int, _scan(data, start, STEPS, shapes, values, flags, starts))
    shape_starts, value_starts = starts[:, : count + 1]
    return Updates(flags[0, :count], shape_starts, value_starts, flags[1, :count], shapes, values, end)


@njit
def _varint(data, at, end):  # type: ignore[no-untyped-def]
    """(value, where it ends); the value is -1 where it has more than 56 bits."""
    value, shift = np.int64(0), 0
    while at < end and shift < 56:
        value |= np.int64(data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
        shift += 7
    while at < end and data[at] >= 0x80:
        at += 1
    return -1, at + 1


@njit
def _skip(data, at, end, wire_type):  # type: ignore[no-untyped-def]
    """Behind a field's content; ``end`` where it is a group, which P4Runtime has none of."""
    if wire_type == 0:
        return _varint(data, at, end)[1]
    if wire_type == 1:
        return at + 8
    if wire_type == 2:
        length, at = _varint(data, at, end)
        return at + length if length >= 0 else end
    return at + 4 if wire_type == 5 else end


@njit
def _scan(data, start, steps, shapes, values, flags, starts):  # type: ignore[no-untyped-def]
    """(number of updates, where the next one may be); see `Updates`."""
    at, size, count = start, len(data), 0
    while at < size and count < flags.shape[1]:
        begin = at
        tag, at = _varint(data, at, size)
        step = steps[0, tag >> 3] if 0 <= tag < 8 * steps.shape[1] else 0
        if step == 0 or tag & 7 != 2:
            at = _skip(data, at, size, tag & 7)
            continue
        length, at = _varint(data, at, size)
        shape, value = starts[0, count], starts[1, count]
        if count > 0 and shape + length > len(shapes):
            return count, begin
        is_plain, shape, value = _take_apart(data, at, at + length, step & 0xFF, steps, shapes, values, shape, value)
        flags[0, count] = is_plain
        if is_plain and count > 0 and flags[0, count - 1]:
            flags[1, count] = _is_same(shapes, starts[0, count - 1], starts[0, count], shape)
        count += 1
        starts[0, count], starts[1, count] = shape, value
        at += length
    return count, at


@njit
def _is_same(shapes, first, second, end):  # type: ignore[no-untyped-def]
    if second - first != end - second:
        return False
    for i in range(end - second):  # noqa: SIM110 (compiled: a generator would not be)
        if shapes[first + i] != shapes[second + i]:
            return False
    return True


@njit
def _take_apart(data, at, end, message, steps, shapes, values, shape, value):  # type: ignore[no-untyped-def]
    """One update. (is plain, end of its shape, end of its values); both ends as before if it is not."""
    first_shape, first_value = shape, value
    messages, ends = np.zeros(8, np.int64), np.zeros(8, np.int64)
    depth = 0
    messages[0], ends[0] = message, end
    while True:
        while depth > 0 and at == ends[depth]:
            depth -= 1
        if at >= ends[depth]:
            return at == end, shape, value
        tag = np.int64(data[at])
        at += 1
        step = np.int64(steps[messages[depth], tag >> 3]) if tag < 8 * steps.shape[1] else np.int64(0)
        kind, code = step >> 8, step & 0xFF
        is_varint = kind <= LONG
        if step == 0 or tag & 7 != (0 if is_varint else 2) or shape + 2 > len(shapes) or value + 1 > len(values):
            return False, first_shape, first_value
        number, at = _varint(data, at, ends[depth])
        if number < 0 or (kind != LONG and number >> 31):
            return False, first_shape, first_value
        if kind == ID:
            shapes[shape], shapes[shape + 1] = code, number
            shape += 2
        elif kind < BYTES:
            shapes[shape], values[value] = code, number
            shape, value = shape + 1, value + 1
        elif kind == BYTES:
            shapes[shape] = code
            if number > NARROW_BYTES:
                shapes[shape] = code + WIDE
                values[value] = at << 32 | number
            else:
                packed = np.int64(0)
                for i in range(number):
                    packed = packed << 8 | np.int64(data[at + i])
                values[value] = packed
            if number == 0:
                return False, first_shape, first_value
            at += number
            shape, value = shape + 1, value + 1
        elif kind == OPAQUE:
            shapes[shape], values[value] = code, at << 32 | number
            at += number
            shape, value = shape + 1, value + 1
        else:
            shapes[shape] = code
            shape += 1
            depth += 1
            messages[depth], ends[depth] = code, at + number
