"""What the machine is given, looked at before compiled code trusts it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


class MachineError(ValueError):
    """A use of the machine that cannot be meant. Says what does not fit."""


def whole_numbers(name: str, values: ArrayLike, count: int, least: int, most: int) -> Integers:
    """One value for each packet, within bounds. Raises MachineError for any other."""
    array = _each(name, values, count)
    for value in (array.min(), array.max()):
        if not least <= value <= most:
            raise MachineError(f"{name}: {int(value)} is not within {least} .. {most}")
    return array.astype(np.int64)


def words(name: str, values: ArrayLike, count: int) -> Integers:
    """64 bits for each packet, signed or not."""
    return _each(name, values, count).astype(np.int64)


def _each(name: str, values: ArrayLike, count: int) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.floor(array)).all():
        array = array.astype(np.int64) if (np.abs(array) < 2.0**63).all() else array
    if array.dtype.kind not in "iub":
        raise MachineError(f"{name}: whole numbers of at most 64 bits, not {values!r}")
    if array.shape not in ((), (1,), (count,)):
        raise MachineError(f"{name}: one value or {count}, one for each packet, not {array.shape}")
    return np.broadcast_to(array, (count,))


def packet_bytes(data: NDArray[np.uint8] | Sequence[bytes]) -> tuple[Integers, Bytes]:
    """Lengths of packets, and their bytes one behind the other."""
    if isinstance(data, np.ndarray):
        if data.dtype != np.uint8 or data.ndim != 2:
            raise MachineError(
                f"data: a (packets, bytes) array of uint8, not {data.dtype} of shape {data.shape} (view it)"
            )
        return np.full(len(data), data.shape[1], np.int64), np.ascontiguousarray(data).reshape(-1)
    for each in data:
        if not isinstance(each, bytes | bytearray | memoryview) and getattr(each, "dtype", None) != np.uint8:
            raise MachineError(f"data: byte strings, not {type(each).__name__}")
    pieces = [bytes(each) for each in data]
    return np.array([len(each) for each in pieces], np.int64), np.frombuffer(b"".join(pieces), np.uint8)
