"""What the process group asks of a device: streams, events, host memory that it can reach, kernels. CUDA is one.

Everything is queued on the current stream, which is the thread's own, as in torch.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor

from hostagent.torch_backend.device.block_kernels import BlockKernels, TorchKernels
from hostagent.torch_backend.device.host_memory import Event, HostMemory
from hostagent.torch_backend.errors import RefusedError

SIDE_STREAMS = 8
"""Calls in flight whose copies do not wait for each other's; more than these share streams."""


class Accelerator(Protocol):
    """A device, as far as tensors on it are staged through host memory."""

    host_memory: HostMemory
    kernels: BlockKernels

    def side_stream(self) -> Any:
        """A stream for one call's copies."""

    def current_stream(self) -> Any:
        """The stream that this thread queues work on."""

    def use(self, stream: Any) -> AbstractContextManager[Any]:
        """Makes it the current stream."""

    def record(self) -> Event:
        """An event that comes when all that the current stream has queued is done."""

    def wait(self, event: Event) -> None:
        """The current stream does nothing more before the event."""

    def copy(self, target: Tensor, source: Tensor) -> None:
        """Queue a copy between the device and its host memory, or on the device."""

    def keep(self, tensor: Tensor) -> None:
        """Do not reuse the tensor's memory, once it is freed, before what the current stream has queued until then."""

    def future(self) -> torch.futures.Future[Any]:
        """A future for values on the device: whoever gets its value waits for what the current stream had queued when
        it was completed."""

    def check_usable(self, collective: str) -> None:
        """Raises RefusedError where the current stream cannot take a call."""


def accelerator_of(tensor: Tensor) -> Accelerator | None:
    """The device that a tensor has to be staged from; None for host memory."""
    if tensor.is_cuda:
        return cuda_device(tensor.get_device())
    for find in others:
        if (device := find(tensor)) is not None:
            return device
    return None


others: list[Callable[[Tensor], Accelerator | None]] = []
"""What finds devices of other kinds, for all of the process."""


@contextmanager
def on_side_stream(device: Accelerator, collective: str) -> Iterator[None]:
    """Work on a stream of the call's own, which begins after all that the caller's stream has queued."""
    device.check_usable(collective)
    produced = device.record()
    with device.use(device.side_stream()):
        device.wait(produced)
        yield


_devices: dict[int, CudaDevice] = {}
_devices_lock = threading.Lock()


def cuda_device(index: int) -> CudaDevice:
    """The process' one ``CudaDevice`` of an index."""
    with _devices_lock:
        if index not in _devices:
            _devices[index] = CudaDevice(index)
        return _devices[index]


class CudaDevice:
    """A GPU. Who waits for its events sleeps: it took no longer where it was measured, and the ranks of a machine and
    their switch need the cores."""

    def __init__(self, index: int) -> None:
        self._device = torch.device("cuda", index)
        self._streams = [torch.cuda.Stream(self._device) for _ in range(SIDE_STREAMS)]  # type: ignore[no-untyped-call]
        self._turn = itertools.count()
        self.host_memory = HostMemory(lambda size: torch.empty(size, dtype=torch.uint8, pin_memory=True))
        self.kernels: BlockKernels = cuda_kernels(self._device)

    def side_stream(self) -> Any:
        return self._streams[next(self._turn) % SIDE_STREAMS]

    def current_stream(self) -> Any:
        return torch.cuda.current_stream(self._device)

    def use(self, stream: Any) -> AbstractContextManager[Any]:
        return torch.cuda.stream(stream)

    def record(self) -> Event:
        event = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        event.record(self.current_stream())
        made: Event = event
        return made

    def wait(self, event: Any) -> None:
        self.current_stream().wait_event(event)

    def copy(self, target: Tensor, source: Tensor) -> None:
        target.copy_(source, non_blocking=True)

    def keep(self, tensor: Tensor) -> None:
        if tensor.is_cuda:
            tensor.record_stream(self.current_stream())

    def future(self) -> torch.futures.Future[Any]:
        return torch.futures.Future(devices=[self._device])

    def check_usable(self, collective: str) -> None:
        if torch.cuda.is_current_stream_capturing():
            raise RefusedError(f"netsum's {collective} cannot be part of a CUDA graph: the sums leave the GPU")


def cuda_kernels(device: torch.device) -> BlockKernels:
    """Triton's where Triton works here (it needs a C compiler), else torch's operations."""
    try:
        from hostagent.torch_backend.device.triton_kernels import TritonKernels

        kernels = TritonKernels()
        value = torch.ones(1, device=device)
        exponent, lane = (
            torch.ones(1, dtype=torch.int32, device=device),
            torch.ones(1, dtype=torch.int32, device=device),
        )
        with torch.cuda.device(device):
            kernels.exponents(value, 1, exponent)
            kernels.quantize(value, exponent, 1, 0, lane)
            kernels.dequantize(lane, exponent, 1, 0, 1, value)
    except Exception:
        return TorchKernels()
    return kernels
