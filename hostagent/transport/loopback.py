"""Channels between ranks that are threads of one process: sums in plain numpy, no packets.

Two uses: groups of one, which never touch the network, and tests of the torch backend without a switch. It keeps the
contract of ``channel`` in the slowest and most obvious way.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hostagent.protocol.messages import ANY_SOURCE, Message
from hostagent.protocol.operation import Operation, OperationKind, Span
from hostagent.transport.errors import Cause, TransportError
from hostagent.transport.loop.records import MESSAGE_NUMBERS

LANES = 256
"""Of frames, if there were any."""


def _memory(span: Span, element_bytes: int) -> np.ndarray[Any, Any]:
    size = span.count * element_bytes
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(span.address)) if size else np.empty(0, np.uint8)


def _to_numbers(raw: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """Numbers to calculate with; bfloat16, which numpy lacks, as the float32 it is the upper half of."""
    if dtype == "bfloat16":
        return (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return raw.view(np.dtype(dtype))


def _to_bytes(numbers: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    if dtype == "bfloat16":
        words = numbers.astype(np.float32).view(np.uint32)
        return ((words + 0x7FFF + ((words >> 16) & 1)) >> 16).astype(np.uint16).view(np.uint8)
    return numbers.astype(np.dtype(dtype)).view(np.uint8)


def _combine(operations: list[Operation]) -> np.ndarray[Any, Any]:
    """The bytes of the whole virtual tensor that the operation leaves behind."""
    first = operations[0]
    if first.kind is OperationKind.RAW:
        whole = np.zeros(first.elements * first.element_bytes, np.uint8)
        for operation in operations:
            start = operation.input.first * first.element_bytes
            part = _memory(operation.input, first.element_bytes)
            whole[start : start + part.size] = part
        return whole
    numbers = [_to_numbers(_memory(op.input, op.element_bytes), op.dtype) for op in operations]
    total = numbers[0].copy()
    for other in numbers[1:]:
        if first.kind is OperationKind.SUM:
            total = total + other
        else:
            total = np.maximum(total, other) if first.kind is OperationKind.MAX else np.minimum(total, other)
    if first.average:
        total = _divided(total, len(operations))
    return _to_bytes(total, first.dtype)


def _divided(total: np.ndarray[Any, Any], ranks: int) -> np.ndarray[Any, Any]:
    """The average; of integers without the remainder (truncated towards zero)."""
    divisor = np.asarray(ranks, total.dtype)
    if not np.issubdtype(total.dtype, np.integer):
        exact: np.ndarray[Any, Any] = total / divisor
        return exact
    floor: np.ndarray[Any, Any] = total // divisor
    floor += (total < 0) & (floor * divisor != total)
    return floor


def _execute(operations: list[Operation]) -> None:
    if operations[0].kind is OperationKind.BARRIER or operations[0].elements == 0:
        return
    whole = _combine(operations)
    for operation in operations:
        start = operation.output.first * operation.element_bytes
        target = _memory(operation.output, operation.element_bytes)
        target[:] = whole[start : start + target.size]


Posted = tuple[int, int, Message]
"""A rank, its number for the message, and the message."""


def _fit(one: Posted, other: Posted) -> bool:
    """Whether two are a send and a receive that wants it."""
    if one[2].receives == other[2].receives:
        return False
    (receiver, _, receive), (sender, _, send) = (one, other) if one[2].receives else (other, one)
    return receive.peer in (ANY_SOURCE, sender) and send.peer == receiver and receive.tag in (None, send.tag)


@dataclass
class LoopbackHub:
    """What the channels of one job share. ``hub.channel(rank)`` gives each rank its end."""

    size: int
    changed: threading.Condition = field(default_factory=threading.Condition)
    pending: dict[int, dict[int, Operation]] = field(default_factory=dict)
    failure: Exception | None = None
    completed: int = 0
    open_messages: list[Posted] = field(default_factory=list)
    """Unfinished messages of all ranks in the order of posting: (rank, number, message)."""
    ended_messages: set[tuple[int, int]] = field(default_factory=set)

    def channel(self, rank: int) -> LoopbackChannel:
        return LoopbackChannel(self, rank)

    def contribute(self, rank: int, number: int, operation: Operation) -> None:
        with self.changed:
            waiting = self.pending.setdefault(number, {})
            waiting[rank] = operation
            while len(self.pending.get(self.completed, {})) == self.size and self.failure is None:
                self._complete(self.pending.pop(self.completed))
            self.changed.notify_all()

    def post(self, rank: int, number: int, message: Message) -> None:
        """Pair a message with the first that it fits, or let it wait."""
        with self.changed:
            for entry in self.open_messages:
                if _fit((rank, number, message), entry):
                    self.open_messages.remove(entry)
                    self._pass((rank, number, message), entry)
                    break
            else:
                self.open_messages.append((rank, number, message))
            self.changed.notify_all()

    def _pass(self, one: Posted, other: Posted) -> None:
        receiver, sender = (one, other) if one[2].receives else (other, one)
        receive, send = receiver[2], sender[2]
        if receive.hashes()[0] != send.hashes()[0]:
            texts = f"rank {receiver[0]}: {receive.describe()}; rank {sender[0]}: {send.describe()}"
            self.failure = self.failure or TransportError(f"a send and a receive disagree: {texts}", Cause.MISMATCH)
            return
        ctypes.memmove(receive.address, send.address, send.elements * send.element_bytes)
        if receive.source_address:
            ctypes.c_int64.from_address(receive.source_address).value = sender[0]
        self.ended_messages |= {one[:2], other[:2]}

    def _complete(self, waiting: dict[int, Operation]) -> None:
        operations = [waiting[rank] for rank in range(self.size)]
        for rank, operation in enumerate(operations):
            if operation.describe() != operations[0].describe():
                texts = f"rank 0: {operations[0].describe()}; rank {rank}: {operation.describe()}"
                self.failure = TransportError(
                    f"the ranks disagree on operation {self.completed}: {texts}", Cause.MISMATCH
                )
                return
        _execute(operations)
        self.completed += 1


class LoopbackChannel:
    """One rank's end of a LoopbackHub; see ``channel.Channel``."""

    def __init__(self, hub: LoopbackHub, rank: int) -> None:
        self._hub = hub
        self._rank = rank
        self._submitted = 0
        self._posted = MESSAGE_NUMBERS
        self._lock = threading.Lock()

    def submit(self, operation: Operation) -> int:
        if self._hub.failure is not None:
            raise self._hub.failure
        with self._lock:
            number = self._submitted
            self._submitted += 1
            self._hub.contribute(self._rank, number, operation)
        return number

    def post(self, messages: Sequence[Message]) -> list[int]:
        if self._hub.failure is not None:
            raise self._hub.failure
        with self._lock:
            numbers = list(range(self._posted, self._posted + len(messages)))
            self._posted += len(messages)
        for number, message in zip(numbers, messages, strict=True):
            self._hub.post(self._rank, number, message)
        return numbers

    def lanes(self, timeout_s: float) -> int:
        return LANES

    def _succeeded(self, number: int) -> bool:
        if number >= MESSAGE_NUMBERS:
            return (self._rank, number) in self._hub.ended_messages
        return number < self._hub.completed

    def finished(self, number: int) -> bool:
        return self._succeeded(number) or self._hub.failure is not None

    def wait(self, number: int, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        with self._hub.changed:
            return self._hub.changed.wait_for(lambda: self.finished(number), deadline - time.monotonic())

    def failure(self, number: int) -> Exception | None:
        return None if self._succeeded(number) else self._hub.failure

    def overdue(self, bound_s: float) -> list[int]:
        return []

    def proceed(self, bound_s: float) -> None:
        """Nobody is late here: ranks of one process wait for each other."""

    def collect(self, number: int) -> None:
        """Nothing is missed here."""

    def expire(self, number: int, timeout_s: float) -> Exception:
        with self._hub.changed:
            text = self._timeout_text(number, timeout_s)
            error = self._hub.failure or TransportError(text, Cause.TIMEOUT)
        self.fail(error)
        return error

    def _timeout_text(self, number: int, timeout_s: float) -> str:
        if number >= MESSAGE_NUMBERS:
            message = next(entry[2] for entry in self._hub.open_messages if entry[:2] == (self._rank, number))
            return f"{message.describe()} timed out after {timeout_s:g} s: no other rank has called what it fits"
        arrived = self._hub.pending.get(number, {})
        missing = [rank for rank in range(self._hub.size) if rank not in arrived]
        return f"operation {number} timed out after {timeout_s:g} s: rank(s) {missing} have not contributed to it"

    def fail(self, error: Exception) -> None:
        with self._hub.changed:
            self._hub.failure = self._hub.failure or error
            self._hub.changed.notify_all()

    def leave(self) -> None:
        """Nothing to give back."""

    def close(self) -> None:
        """Nothing to give back."""


def local_channel() -> LoopbackChannel:
    """The channel of a group of one: every operation is finished when submit returns."""
    return LoopbackHub(1).channel(0)
