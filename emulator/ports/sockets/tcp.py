"""A port over TCP: for networks that pass nothing else. The switch listens, the host connects, and again when cut off.

A stream is a greeting from each side, then frames, each behind its length (4 bytes, big endian). A thread of the port
makes connections and greets, which is seldom; the frames themselves are the loop's (``tcp_loops``).

A connection without the greeting is unidentified: what it has sent is dropped and counted, and it is closed. The newest
that has greeted is the host's, as a udp port's remote is the latest sender; name the remote where others can reach
the port: connections from other addresses are then closed at once.
"""

from __future__ import annotations

import os
import select
import socket
from typing import Any

import numpy as np

from emulator.native.pages import address_of, aligned_bytes
from emulator.ports.batch import CELL_BYTES, TxPortTable
from emulator.ports.cable.bell import Bell
from emulator.ports.cable.rings import POST
from emulator.ports.errors import PortError
from emulator.ports.host import FramePool, HostPort, pool_bytes, pool_over, pool_stride
from emulator.ports.port import SwitchPort, make_private_ring
from emulator.ports.sockets.mmsg import IOV, MESSAGE, MESSAGES
from emulator.ports.sockets.tcp_connections import Greeter, HostGreeter, SwitchGreeter, open_listener, resolve_host
from emulator.ports.sockets.tcp_loops import PREFIX_BYTES, STREAM_CAPACITY_BYTES, offer_socket, tcp_drop
from emulator.ports.sockets.udp import HOST_POSTS, TX_CELLS
from emulator.ports.spec import PortSpec
from emulator.ports.state import WireKind

EPOLL_EVENT = np.dtype([("events", "<u4"), ("data", "<u8")])
"""Packed, as on x86-64; elsewhere the data, which nobody reads, has another offset."""


class TcpWire:
    """The arrays that the compiled functions work on, and the poller that a loop's bell watches."""

    def __init__(self, records: Any) -> None:
        state = records[0]
        self._port = address_of(records)
        self._stream = aligned_bytes(STREAM_CAPACITY_BYTES)
        self._prefixes = np.zeros(MESSAGES * PREFIX_BYTES, np.uint8)
        self._pieces = np.zeros(2 * MESSAGES, IOV)
        self._message = np.zeros(1, MESSAGE)
        self._event = np.zeros(2, EPOLL_EVENT)
        self._event["events"] = select.EPOLLIN | select.EPOLLRDHUP
        self._poller = select.epoll()
        self._message["iov"] = address_of(self._pieces)
        state["kind"] = WireKind.TCP
        state["socket"] = state["next_socket"] = state["peer_fifo"] = -1
        state["poller"], state["poll_event"] = self._poller.fileno(), address_of(self._event)
        state["stream"], state["stream_bytes"] = address_of(self._stream), STREAM_CAPACITY_BYTES
        state["prefixes"] = address_of(self._prefixes)
        state["messages_out"] = address_of(self._message)

    @property
    def descriptor(self) -> int:
        """Readable when the connection is."""
        return self._poller.fileno()

    def offer(self, connection: socket.socket) -> None:
        """Leave a greeted connection for the loop; from any thread."""
        untaken = int(offer_socket(self._port, connection.detach()))
        if untaken >= 0:
            os.close(untaken)

    def close(self) -> None:
        """No loop may be using the port, and its greeter must have ended."""
        untaken = int(offer_socket(self._port, -1))
        if untaken >= 0:
            os.close(untaken)
        tcp_drop(self._port)
        self._poller.close()


class TcpSwitchPort(SwitchPort):
    """The switch's end."""

    def __init__(self, spec: PortSpec, table: TxPortTable, bell: Bell) -> None:
        super().__init__(spec, table)
        self._listener = open_listener(spec)
        try:
            allowed = resolve_host(spec, spec.remote) if spec.remote is not None else None
        except BaseException:
            self._listener.close()
            raise
        self._wire = TcpWire(self.records)
        self._connect_switch()
        self._kept += make_private_ring(self.wire_ring, TX_CELLS)
        self._greeter: Greeter = SwitchGreeter(self._listener, allowed, self.state, self._hand_over)
        self._bell = bell
        self._greeter.start()

    def _hand_over(self, connection: socket.socket) -> None:
        self._wire.offer(connection)
        self._bell.ring()

    @property
    def descriptor(self) -> int:
        """See TcpWire."""
        return self._wire.descriptor

    @property
    def local(self) -> tuple[str, int]:
        """The address it listens at, with the real port where 0 was asked for."""
        host, port = self._listener.getsockname()[:2]
        return str(host), int(port)

    @property
    def max_frame_bytes(self) -> int:
        """The longest frame that can leave."""
        return CELL_BYTES

    @property
    def is_up(self) -> bool:
        """Whether a host is connected."""
        return int(self.state["socket"]) >= 0

    def close(self) -> None:
        """Close the connection and listen no more."""
        self._greeter.close()
        super().close()
        self._wire.close()


class TcpHostPort(HostPort):
    """The host's end. It may be opened before the switch listens: it goes on trying."""

    def __init__(self, spec: PortSpec) -> None:
        if spec.remote is None or spec.remote[1] == 0:
            raise PortError(f"port {spec}: a host's tcp port needs the switch's address; write tcp:LOCAL,REMOTE")
        family, remote = resolve_host(spec, spec.remote)
        super().__init__(spec, Bell(shared=False, poll=True))
        self._wire = TcpWire(self.records)
        self._posts = np.zeros(HOST_POSTS, POST)
        self.state["posts"] = address_of(self._posts)
        self.state["post_mask"] = HOST_POSTS - 1
        self.state["stride_bytes"] = CELL_BYTES
        self.bell.watch(self._wire.descriptor)
        self._greeter: Greeter = HostGreeter(spec, family, remote, self.state, self._hand_over)
        self._greeter.start()

    def _hand_over(self, connection: socket.socket) -> None:
        self._wire.offer(connection)
        self.bell.ring()

    @property
    def is_up(self) -> bool:
        """Whether it is connected; what is posted before is dropped and counted when it is flushed."""
        return int(self.state["socket"]) >= 0

    def frame_pool(self, count: int, stride_bytes: int) -> FramePool:
        """See HostPort."""
        stride_bytes = pool_stride(stride_bytes)
        return pool_over(aligned_bytes(pool_bytes(count, stride_bytes)), count, stride_bytes)

    def close(self) -> None:
        """Close the connection."""
        self._greeter.close()
        super().close()
        self._wire.close()
        self.bell.close()
