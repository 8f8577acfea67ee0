"""The host's end of a port: frames from its pool, posted without copying; frames from the switch, borrowed.

Compiled loops call the njit functions with ``HostPort.address``; the methods are the same for people and tests. A frame
of the pool must not be rewritten until ``host_consumed`` has reached the number that its latest posting had
(``host_posted`` right after posting). A refused post (0) is back-pressure: nothing is lost, try again after receiving.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.native.atomics import exchange64, load_acquire64, pause, store_release64
from emulator.native.jit import njit
from emulator.native.pages import CACHE_LINE_BYTES, address_of, aligned_bytes
from emulator.native.syscalls import monotonic_ns
from emulator.ports.batch import FRAME_HEADROOM_BYTES, FrameBatch
from emulator.ports.cable.bell import Bell, bell_cancel, bell_prepare, bell_sleep
from emulator.ports.cable.rings import (
    cable_host_consumed,
    cable_host_has_input,
    cable_host_post,
    cable_host_publish,
    cable_host_receive,
    cable_host_release,
)
from emulator.ports.cable.wake_peer import attend_peer, leave_peer, ring_peer
from emulator.ports.errors import PortError
from emulator.ports.port import RETRY_BLOCKED_NS, PortStatistics, common_statistics
from emulator.ports.sockets.tcp_loops import tcp_has_input, tcp_host_flush, tcp_receive, tcp_release
from emulator.ports.sockets.udp_loops import udp_has_input, udp_host_flush, udp_host_post, udp_receive, udp_release
from emulator.ports.spec import PortSpec
from emulator.ports.state import KIND_CABLE, KIND_TCP, KIND_UDP, PORT, WAKE_REQUESTED, port_at

SPIN_NS = 30_000
"""How long to look before sleeping: about what a sleep and a wake-up cost; more would keep a peer off this core."""

SPINS_PER_CLOCK = 16
"""Looks between two readings of the clock: a reading costs as much as some looks."""

INPUT, WOKEN, TIMEOUT = 1, 2, 0
"""What host_wait returns."""


@njit
def host_post(port: int, address: int, length_bytes: int) -> Any:
    """Queue a frame of the pool: 1, or 0 when the ring is full. It leaves at the next host_flush."""
    if port_at(port).kind == KIND_CABLE:
        return cable_host_post(port, address, length_bytes)
    return udp_host_post(port, address, length_bytes)


@njit
def host_posted(port: int) -> Any:
    """How many frames have been posted, counted from the cable's first: the number of the latest posting."""
    return port_at(port).out_next


@njit
def host_consumed(port: int) -> Any:
    """How many postings, counted likewise, the other end has finished reading."""
    state = port_at(port)
    if state.kind == KIND_CABLE:
        return cable_host_consumed(port)
    return state.out_taken


@njit
def host_flush(port: int) -> Any:
    """Send what was posted and wake the switch if it sleeps. How many frames left."""
    state = port_at(port)
    if state.kind == KIND_CABLE:
        sent = cable_host_publish(port)
        if sent > 0:
            ring_peer(port)
        return sent
    if state.kind == KIND_TCP:
        return tcp_host_flush(port)
    return udp_host_flush(port)


@njit
def host_receive(port: int, batch: int, most: int) -> Any:
    """Append up to ``most`` frames to a batch; they stay valid until host_release."""
    state = port_at(port)
    if state.kind == KIND_CABLE:
        return cable_host_receive(port, batch, most)
    if state.kind == KIND_TCP:
        return tcp_receive(port, batch, most)
    return udp_receive(port, batch, most)


@njit
def host_release(port: int) -> None:
    """All frames received so far have been read."""
    state = port_at(port)
    if state.kind == KIND_CABLE:
        cable_host_release(port)
    elif state.kind == KIND_TCP:
        tcp_release(port)
    else:
        udp_release(port)


@njit
def host_pending(port: int) -> Any:
    """INPUT, WOKEN, or TIMEOUT for neither. A socket's input is left to ppoll."""
    state = port_at(port)
    if state.kind == KIND_CABLE and cable_host_has_input(port):
        return INPUT
    if state.kind == KIND_TCP and tcp_has_input(port):
        return INPUT
    if state.kind == KIND_UDP and udp_has_input(port):
        return INPUT
    return WOKEN if load_acquire64(port + WAKE_REQUESTED) != 0 else TIMEOUT


@njit
def host_look(port: int, spin_ns: int) -> Any:
    """Look for input or wake() for ``spin_ns``, at least once; INPUT, WOKEN or TIMEOUT."""
    attend_peer(port)
    start_ns = monotonic_ns()
    limit_ns = spin_ns if port_at(port).kind == KIND_CABLE else 0
    found = host_pending(port)
    while found == TIMEOUT and monotonic_ns() - start_ns < limit_ns:
        for _ in range(SPINS_PER_CLOCK):
            pause()
            found = host_pending(port)
            if found != TIMEOUT:
                break
    return found


@njit
def host_wait(port: int, sleeper: int, spin_ns: int, timeout_ns: int) -> Any:
    """Wait for input or wake(): look for ``spin_ns``, then sleep. Negative timeout: for ever.

    INPUT, WOKEN or TIMEOUT; any of them may be a false alarm, so look again. On a socket there is no looking without a
    system call, so there it sleeps at once.
    """
    state = port_at(port)
    start_ns = monotonic_ns()
    found = host_look(port, spin_ns if timeout_ns < 0 else min(spin_ns, timeout_ns))
    if found == TIMEOUT:
        left_ns = timeout_ns if timeout_ns < 0 else max(0, timeout_ns - (monotonic_ns() - start_ns))
        if state.blocked != 0 and (left_ns < 0 or left_ns > RETRY_BLOCKED_NS):
            left_ns = RETRY_BLOCKED_NS
        sequence = bell_prepare(sleeper)
        found = host_pending(port)
        if found == TIMEOUT:
            readable = bell_sleep(sleeper, sequence, left_ns)
            found = INPUT if readable != 0 else host_pending(port)
        else:
            bell_cancel(sleeper)
    if exchange64(port + WAKE_REQUESTED, 0) != 0 and found == TIMEOUT:
        found = WOKEN
    return found


@njit
def request_wake(port: int) -> None:
    """Make the present or next host_wait return; the bell must be rung after it."""
    store_release64(port + WAKE_REQUESTED, 1)


@dataclass(frozen=True, slots=True)
class FramePool:
    """Frames of the host's own: frame i is at ``address + i * stride_bytes``, and row i of ``frames``."""

    address: int
    stride_bytes: int
    count: int
    frames: NDArray[np.uint8]


class HostPort:
    """The host's end of one port; the kinds fill in the wire in their constructors."""

    def __init__(self, spec: PortSpec, bell: Bell) -> None:
        self.spec = spec
        self.bell = bell
        self.records: NDArray[Any] = aligned_bytes(PORT.itemsize).view(PORT)
        self.state = self.records[0]
        self.address = address_of(self.records)
        """What the compiled functions take as ``port``."""
        self.sleeper_address = bell.sleeper_address
        """What host_wait takes as ``sleeper``."""

    @property
    def max_frame_bytes(self) -> int:
        """The longest frame that can be posted."""
        return int(self.state["stride_bytes"])

    @property
    def posted(self) -> int:
        """See host_posted."""
        return int(host_posted(self.address))

    @property
    def consumed(self) -> int:
        """See host_consumed."""
        return int(host_consumed(self.address))

    @property
    def peer_changes(self) -> int:
        """How often a switch has taken the other end since we have it; rises when the switch is started again."""
        return int(self.state["peer_changes"])

    def require_frame_bytes(self, length_bytes: int) -> None:
        """Raise PortError, saying what to do, when frames of this length can't pass."""
        if length_bytes > self.max_frame_bytes:
            raise PortError(
                f"port {self.spec}: a frame of {length_bytes} bytes does not fit, the longest is "
                f"{self.max_frame_bytes} bytes; use fewer lanes per frame"
            )

    def frame_pool(self, count: int, stride_bytes: int) -> FramePool:
        """``count`` frames of at least ``stride_bytes``, lanes on cache lines; give the pool back by release_pool."""
        raise NotImplementedError

    def release_pool(self, pool: FramePool) -> None:
        """Give a pool's memory back; every posting of its frames must have been consumed."""

    def post(self, address: int, length_bytes: int) -> bool:
        """See host_post."""
        return bool(host_post(self.address, address, length_bytes))

    def flush(self) -> int:
        """See host_flush."""
        return int(host_flush(self.address))

    def receive_into(self, batch: FrameBatch, most: int = 1 << 30) -> int:
        """See host_receive."""
        return int(host_receive(self.address, batch.record_address, most))

    def release(self) -> None:
        """See host_release."""
        host_release(self.address)

    def wait(self, timeout_ns: int = -1, spin_ns: int = SPIN_NS) -> int:
        """See host_wait; holds no GIL."""
        return int(host_wait(self.address, self.sleeper_address, spin_ns, timeout_ns))

    def wake(self) -> None:
        """Make wait() return, from any thread."""
        request_wake(self.address)
        self.bell.ring()

    def statistics(self) -> PortStatistics:
        """What has passed so far; may be called while a loop runs."""
        return PortStatistics(**common_statistics(self.state))

    def close(self) -> None:
        """Leave the cable. No loop may be using the port."""
        leave_peer(self.address)


def pool_stride(stride_bytes: int) -> int:
    """The distance of frames that keeps each on cache lines alike."""
    return -(-stride_bytes // CACHE_LINE_BYTES) * CACHE_LINE_BYTES


def pool_over(memory: NDArray[np.uint8], count: int, stride_bytes: int) -> FramePool:
    """A pool in memory of ``pool_bytes(count, stride_bytes)``, which starts on a cache line."""
    inside = memory[FRAME_HEADROOM_BYTES : FRAME_HEADROOM_BYTES + count * stride_bytes]
    return FramePool(address_of(inside), stride_bytes, count, inside.reshape(count, stride_bytes))


def pool_bytes(count: int, stride_bytes: int) -> int:
    """How much memory a pool takes."""
    return count * stride_bytes + FRAME_HEADROOM_BYTES
