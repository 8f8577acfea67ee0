"""A port inside one process: the same cable as in shared memory, in private memory, with both ends in our hands.

For tests, simulations and in-memory benchmarks; a live loop can serve it too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.batch import CELL_BYTES, FrameBatch, TxPortTable
from emulator.ports.cable.bell import Bell
from emulator.ports.cable.rings import PAGE_BYTES, Geometry, place, place_tx, write_header
from emulator.ports.errors import PortError
from emulator.ports.host import FramePool, HostPort, pool_bytes, pool_over, pool_stride
from emulator.ports.loop.switch_loops import adopt_switch_loops
from emulator.ports.port import SwitchPort
from emulator.ports.spec import PortSpec
from emulator.ports.state import WireKind

MEMORY_POOL_BYTES = 64 << 20
"""Address space only: memory comes with use."""


class MemoryHost(HostPort):
    """The host's end of a MemoryPort, for whoever takes a HostPort."""

    def __init__(self, spec: PortSpec, memory: NDArray[np.uint8], geometry: Geometry, switch_bell: Bell | None) -> None:
        super().__init__(spec, Bell(shared=False))
        self.state["kind"] = WireKind.CABLE
        place(self.state, address_of(memory), geometry)
        if switch_bell is not None:
            self.state["peer_bell"] = switch_bell.address
            self.state["peer_fifo"] = switch_bell.writing_end
        self._pool = memory[geometry.pool_offset :]
        self._used_bytes = 0

    def frame_pool(self, count: int, stride_bytes: int) -> FramePool:
        """See HostPort; the memory of a released pool is not used again."""
        stride_bytes = pool_stride(stride_bytes)
        start, need = self._used_bytes, pool_stride(pool_bytes(count, stride_bytes))
        if start + need > len(self._pool):
            raise PortError(
                f"port {self.spec}: {count} frames of {stride_bytes} bytes are too many; make the pool larger"
            )
        self._used_bytes += need
        return pool_over(self._pool[start : start + need], count, stride_bytes)


class MemoryPort(SwitchPort):
    """A switch's port whose other end is ``host``; for tests it has ``send`` and ``received``.

    ``bell`` is the switch process's, if a live loop serves the port.
    """

    def __init__(
        self, spec: PortSpec, table: TxPortTable, bell: Bell | None = None, geometry: Geometry | None = None
    ) -> None:
        adopt_switch_loops()  # numba would compile them again, in each process, for 20 s
        super().__init__(spec, table)
        geometry = geometry or Geometry(pool_bytes=MEMORY_POOL_BYTES)
        self._memory = aligned_bytes(geometry.total_bytes, PAGE_BYTES)
        write_header(self._memory, geometry)
        self.state["kind"] = WireKind.CABLE
        place(self.state, address_of(self._memory), geometry)
        self._connect_switch()
        place_tx(self.wire_ring, self.state, 0)
        self.wire_ring["limit"] = geometry.cells
        self.host = MemoryHost(spec, self._memory, geometry, bell)
        self.state["peer_bell"] = self.host.bell.address
        self._frames: FramePool | None = None
        self._posts = geometry.posts
        self._batch = FrameBatch(geometry.cells)

    def send(self, frames: Iterable[bytes] | NDArray[np.uint8], lengths: Sequence[int] | None = None) -> int:
        """Send copies of frames to the switch; how many there was room for.

        ``frames`` are byte strings, or rows of an array of which ``lengths`` bytes each are the frame.
        """
        pool = self._frames = self._frames or self.host.frame_pool(self._posts, CELL_BYTES)
        accepted = 0
        for index, frame in enumerate(frames):
            content = np.frombuffer(bytes(frame), np.uint8)
            length = len(content) if lengths is None else lengths[index]
            if length > pool.stride_bytes:
                raise PortError(f"port {self.spec}: a frame of {length} bytes, the longest is {pool.stride_bytes}")
            # as many frames as postings: where the ring has room, the frame's last posting has been consumed
            address = pool.address + self.host.posted % pool.count * pool.stride_bytes
            if self.host.posted - self.host.consumed >= pool.count:
                break
            ctypes.memmove(address, address_of(content), length)
            accepted += self.host.post(address, length)
        self.host.flush()
        return accepted

    def received(self) -> list[bytes]:
        """Copies of the frames the switch has sent since the last call."""
        self._batch.clear()
        self.host.receive_into(self._batch)
        frames = [frame for _, frame in self._batch.frames()]
        self.host.release()
        return frames

    def close(self) -> None:
        """Take the port away from the switch."""
        super().close()
        self.host.bell.close()
