"""What counters, meters and registers have in common: arrays that exist as long as the program, read by index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from emulator.p4runtime.entities.tables import MODIFY
from emulator.p4runtime.errors import invalid
from emulator.p4runtime.pipeline.schema import check_index
from emulator.p4runtime.view import View

Value = TypeVar("Value")


def check_modify(update_type: int, where: str) -> None:
    if update_type != MODIFY:
        raise invalid(f"{where} comes with the program: it can only be modified")


def check_wildcard(object_id: int, message: Any, kind: str) -> None:
    if not object_id and message.HasField("index"):
        raise invalid(f"{kind} id 0 reads all {kind}s: an index cannot be given with it")


def indices_of(message: Any, size: int, where: str) -> range:
    """The one the message gives, or all."""
    if not message.HasField("index"):
        return range(size)
    index = message.index.index
    check_index(index, size, where)
    return range(index, index + 1)


def read_cells(
    view: View, read: Callable[[int, int], Value], object_id: int, indices: range
) -> Iterator[tuple[int, Value]]:
    return view.in_steps((index, read(object_id, index)) for index in indices)
