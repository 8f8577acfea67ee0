"""A call's way between a device and the network: its stream, its host memory, and what is started when.

A call on a device's tensors is planned in the caller's thread, which queues the copies to host memory on a side stream
and waits for none. The thread of `starter` waits for the copies and starts the operations. Whoever waits for the work
queues the copies back (`work`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

import torch
from torch import Tensor

from hostagent.protocol.operation import Operation
from hostagent.torch_backend.device.accelerator import Accelerator
from hostagent.torch_backend.device.host_memory import Event
from hostagent.torch_backend.errors import RefusedError

PIECE_BYTES = 8 << 20
"""Large tensors are cut into operations of about this size: the network has one while the next is copied. On an H100
2 MiB and 64 MiB took a fifth longer, from 8 to 16 MiB all the same time."""


MIXED_DEVICES = "netsum: the tensors of a call are on different devices: move them to one"


class Start(Protocol):
    """What a staged call is started with, on a thread that may block."""

    def submit(self, operation: Operation, arrived: Callable[[], None] | None = None) -> int:
        """Start an operation, whose input is in host memory now. ``arrived`` queues what takes its result to the
        device."""

    def finish(self, number: int) -> None:
        """Block until an operation has finished; raises what ended it."""

    def lanes(self) -> int:
        """The lanes of a frame; blocks until the job has its lease."""


def pieces_of(elements: int, element_bytes: int, multiple: int = 1) -> list[tuple[int, int]]:
    """(first, end) of about PIECE_BYTES each, at multiples of ``multiple``; none is smaller than half of that."""
    each = max(1, PIECE_BYTES // element_bytes // multiple) * multiple
    count = max(1, (elements + each // 2) // each)
    return [(i * each, elements if i == count - 1 else (i + 1) * each) for i in range(count)]


class Transfer:
    """The device's side of one call. Made, and its methods called, with the call's stream as the current one."""

    def __init__(self, device: Accelerator) -> None:
        self.device = device
        self.stream = device.current_stream()
        self._buffers: list[Tensor] = []
        self.begin: Callable[[Start], None] | None = None
        """Starts the call instead of ``start``."""
        self._operations: list[Operation] = []
        self._last: Event | None = None
        self._pieces: list[tuple[Operation, Event, Callable[[], None] | None]] = []

    def host(self, elements: int, dtype: torch.dtype) -> Tensor:
        """Host memory for so many elements, flat, until ``release``."""
        size = elements * dtype.itemsize
        buffer = self.device.host_memory.take(size)
        self._buffers.append(buffer)
        return buffer[:size].view(dtype)

    def to_host(self, tensor: Tensor, host: Tensor | None = None) -> Tensor:
        """Queue the copy of a contiguous tensor to ``host``, or to memory of its own; returns that."""
        self.device.keep(tensor)
        if host is None:
            host = self.host(tensor.numel(), tensor.dtype).view(tensor.shape)
        self.device.copy(host, tensor)
        return host

    def to_device(self, target: Tensor, host: Tensor) -> None:
        """Queue the copy of a result."""
        self.device.copy(target, host)
        self.device.keep(target)

    def add_piece(self, operation: Operation, arrived: Callable[[], None] | None = None) -> None:
        """An operation to start when the copies queued until now are done."""
        self._pieces.append((operation, self.device.record(), arrived))

    def planned(self, operations: Sequence[Operation]) -> None:
        """Everything has been queued: ``operations``, if any, start when it is done."""
        self._last = self.device.record()
        self._operations = list(operations)

    def start(self, ticket: Start) -> None:
        """Start the call's operations, each when its input is in host memory."""
        if self.begin is not None:
            self.begin(ticket)
            return
        for operation, copied, arrived in self._pieces:
            copied.synchronize()
            ticket.submit(operation, arrived)
        assert self._last is not None
        self._last.synchronize()
        if not self._pieces:
            for operation in self._operations:
                ticket.submit(operation)

    def take_over(self, other: Transfer) -> None:
        """Become the transfer of another plan of the same call, too; both start all at once."""
        if other.device is not self.device:
            raise RefusedError(MIXED_DEVICES)
        assert not any((self._pieces, other._pieces, self.begin, other.begin))
        self._buffers += other._buffers

    def release(self) -> None:
        """Give the host memory back, and let tensors go. Nothing more is queued, and no operation uses them."""
        buffers, self._buffers = self._buffers, []
        self.begin = None
        self._pieces.clear()
        with suppress(RuntimeError):  # of a device that has failed: its memory is not used again
            with self.device.use(self.stream):
                last_use = self.device.record()
            for buffer in buffers:
                self.device.host_memory.give(buffer, last_use)
