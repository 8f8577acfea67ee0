"""A device with streams, in host memory: what is queued runs as late as anybody allows, or at once.

A *lazy* device runs a stream's work only when somebody blocks for an event: whoever forgets to wait sees old memory.
An *eager* one runs it when it is queued: whoever reuses memory too early destroys it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from hostagent.torch_backend.device.block_kernels import BlockKernels, TorchKernels
from hostagent.torch_backend.device.host_memory import Event, HostMemory


class FakeStream:
    """Work in the order in which it was queued."""

    def __init__(self) -> None:
        self._queue: list[Callable[[], object] | None] = []
        self._done = 0
        self._lock = threading.RLock()

    def queue(self, work: Callable[[], object]) -> int:
        with self._lock:
            self._queue.append(work)
            return len(self._queue)

    @property
    def queued(self) -> int:
        return len(self._queue)

    def has_done(self, position: int) -> bool:
        return self._done >= position

    def run(self, position: int) -> None:
        with self._lock, torch.inference_mode():  # as the device, which knows nothing of it
            while self._done < position:
                work, self._queue[self._done] = self._queue[self._done], None
                assert work is not None
                work()
                self._done += 1


class FakeEvent:
    """All that a stream had queued."""

    def __init__(self, stream: FakeStream) -> None:
        self._stream, self._position = stream, stream.queued

    def query(self) -> bool:
        return self._stream.has_done(self._position)

    def synchronize(self) -> None:
        self._stream.run(self._position)


class CountedMemory(HostMemory):
    """Counts the buffers in use."""

    def __init__(self) -> None:
        super().__init__(lambda size: torch.full((size,), 0xA5, dtype=torch.uint8))
        self.in_use = 0

    def take(self, size_bytes: int) -> Tensor:
        self.in_use += 1
        return super().take(size_bytes)

    def give(self, buffer: Tensor, event: Event) -> None:
        self.in_use -= 1
        super().give(buffer, event)


class FakeAccelerator:
    """See the module; an `accelerator.Accelerator`. Each thread has a stream of its own to begin with."""

    def __init__(self, *, lazy: bool) -> None:
        self._lazy = lazy
        self._thread = threading.local()
        self._tensors: dict[int, Tensor] = {}
        self.host_memory: Any = CountedMemory()
        self.kernels: BlockKernels = _QueuedKernels(self)
        self.refusal: Exception | None = None

    # What the tests do.

    def tensor(self, held: Tensor) -> Tensor:
        """The tensor, on this device."""
        self._tensors[held.untyped_storage().data_ptr()] = held
        return held

    def forget(self, tensor: Tensor) -> None:
        """The tensor is no longer of interest."""
        del self._tensors[tensor.untyped_storage().data_ptr()]

    def find(self, tensor: Tensor) -> FakeAccelerator | None:
        """To be one of `accelerator.others`."""
        is_here = tensor.layout is torch.strided and tensor.untyped_storage().data_ptr() in self._tensors
        return self if is_here and tensor.numel() else None

    def queue(self, work: Callable[[], object]) -> None:
        """Have the current stream do something."""
        stream = self.current_stream()
        position = stream.queue(work)
        if not self._lazy:
            stream.run(position)

    def read(self, tensor: Tensor) -> Tensor:
        """What the current stream sees of a tensor."""
        seen = torch.empty_like(tensor)
        self.copy(seen, tensor)
        self.record().synchronize()
        return seen

    # What the process group asks for.

    def side_stream(self) -> FakeStream:
        return FakeStream()

    def current_stream(self) -> FakeStream:
        if not hasattr(self._thread, "stream"):
            self._thread.stream = FakeStream()
        stream: FakeStream = self._thread.stream
        return stream

    @contextmanager
    def use(self, stream: FakeStream) -> Iterator[None]:
        before, self._thread.stream = self.current_stream(), stream
        try:
            yield
        finally:
            self._thread.stream = before

    def record(self) -> FakeEvent:
        return FakeEvent(self.current_stream())

    def wait(self, event: Event) -> None:
        self.queue(event.synchronize)

    def copy(self, target: Tensor, source: Tensor) -> None:
        self.queue(lambda: target.copy_(source))

    def keep(self, tensor: Tensor) -> None:
        """Nothing is freed here."""

    def future(self) -> torch.futures.Future[Any]:
        return _CarryingFuture(self)

    def check_usable(self, collective: str) -> None:
        if self.refusal is not None:
            raise self.refusal


class _CarryingFuture(torch.futures.Future[Any]):
    """Its value is there for every stream, as far as the completing thread's stream had queued it."""

    def __init__(self, device: FakeAccelerator) -> None:
        super().__init__()
        self._device = device

    def set_result(self, result: Any) -> None:
        self._device.record().synchronize()
        super().set_result(result)


class _QueuedKernels:
    """torch's, in the order of the stream."""

    def __init__(self, device: FakeAccelerator) -> None:
        self._device, self._kernels = device, TorchKernels()

    def exponents(self, *arguments: Any) -> None:
        self._device.queue(lambda: self._kernels.exponents(*arguments))

    def quantize(self, *arguments: Any) -> None:
        self._device.queue(lambda: self._kernels.quantize(*arguments))

    def dequantize(self, *arguments: Any) -> None:
        self._device.queue(lambda: self._kernels.dequantize(*arguments))

    def pack(self, *arguments: Any) -> None:
        self._device.queue(lambda: self._kernels.pack(*arguments))

    def unpack(self, *arguments: Any) -> None:
        self._device.queue(lambda: self._kernels.unpack(*arguments))
