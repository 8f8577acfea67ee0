"""A port over UDP: one frame is one datagram's payload. No root, any machine; what the network loses is lost.

With a remote the socket is connected, so only that remote's datagrams come in. Without one the remote is the
latest sender; name it where others can reach the port. Datagrams are never fragmented: a frame longer than the path
takes is refused by the kernel and counted, and ``max_frame_bytes`` is the limit.
"""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress
from typing import Any

import numpy as np

from emulator.native.pages import CACHE_LINE_BYTES, address_of, aligned_bytes
from emulator.ports.batch import CELL_BYTES, FRAME_HEADROOM_BYTES, TxPortTable
from emulator.ports.cable.bell import Bell
from emulator.ports.cable.rings import POST
from emulator.ports.errors import PortError
from emulator.ports.host import FramePool, HostPort, pool_bytes, pool_over, pool_stride
from emulator.ports.port import SwitchPort, make_private_ring
from emulator.ports.sockets.ecn import tell_ecn
from emulator.ports.sockets.mmsg import (
    CONTROL_VALUE,
    MESSAGES,
    SOL_UDP,
    UDP_GRO,
    UDP_SEGMENT,
    make_controls,
    make_messages,
)
from emulator.ports.sockets.udp_loops import SOCKADDR_BYTES
from emulator.ports.spec import INHERITED, PortSpec
from emulator.ports.state import WireKind

SOCKET_BUFFER_BYTES = 4 << 20
"""Room for two windows of 512 frames of 256 lanes as the kernel counts them, 2,304 bytes each; it may grant less."""

MESSAGE_BYTES = 65_536 + CACHE_LINE_BYTES
"""Room for the datagrams of one message, an IP packet at most before it is segmented. Not a power of two, or the first
lines of all messages would share few places in a cache. Pages that nothing arrives in cost nothing."""

MOST_SEGMENTS = 16
"""Frames of one message. Four ranks over veth at 1 Gbit/s and 256 lanes, 16 MiB: 713 ms with 1, 190 with 8, 160 with
16, 32 or 60; more are longer bursts for the queues on the way and gain nothing."""

TX_CELLS = 1024
HOST_POSTS = 2048
"""As many as a cable in shared memory has."""

IP_MTU, IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, IPV6_MTU = 14, 10, 23, 24
PMTUDISC_DO = 2
"""linux/in.h and linux/in6.h; Python's socket module does not name them."""

HEADER_BYTES = {socket.AF_INET: 28, socket.AF_INET6: 48}
"""IP and UDP."""


def open_socket(spec: PortSpec) -> socket.socket:
    """A bound, maybe connected, socket as the specification says. Raises PortError."""
    if spec.local is None:
        raise PortError(f"port {spec}: a udp port needs a local address; write udp:HOST:PORT")
    family, local = _resolve(spec, spec.local, socket.AF_UNSPEC)
    opened = _inherited(local) or socket.socket(family, socket.SOCK_DGRAM)
    try:
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            opened.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER_BYTES)
        _forbid_fragments(opened)
        if opened.getsockname()[:2] != local[:2]:
            opened.bind(local)
        if spec.remote is not None:
            opened.connect(_resolve(spec, spec.remote, family)[1])
    except OSError as error:
        opened.close()
        raise PortError(f"port {spec}: {_explain(error)}") from error
    except BaseException:
        opened.close()
        raise
    return opened


def _inherited(local: tuple[Any, ...]) -> socket.socket | None:
    """A further descriptor of the socket that is bound there already: the port may be closed and opened again."""
    for text in filter(None, os.environ.get(INHERITED, "").split(",")):
        with suppress(OSError, ValueError):
            found = socket.socket(fileno=os.dup(int(text)))
            if found.getsockname()[:2] == local[:2]:
                return found
            found.close()
    return None


def _resolve(spec: PortSpec, endpoint: tuple[str, int], family: int) -> tuple[int, Any]:
    try:
        found = socket.getaddrinfo(*endpoint, family, socket.SOCK_DGRAM)
    except socket.gaierror as error:
        raise PortError(f"port {spec}: cannot find host {endpoint[0]!r}: {error.strerror}; check its name") from error
    return int(found[0][0]), found[0][4]


def _forbid_fragments(opened: socket.socket) -> None:
    if opened.family == socket.AF_INET:
        opened.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, PMTUDISC_DO)
    else:
        opened.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, PMTUDISC_DO)


def _joins_datagrams(opened: socket.socket) -> bool:
    """Have datagrams come many in a message where the kernel can (Linux 5.0); whether they may be sent so, too."""
    try:
        opened.setsockopt(SOL_UDP, UDP_GRO, 1)
        opened.setsockopt(SOL_UDP, UDP_SEGMENT, 0)
    except OSError:
        return False
    return True


def _explain(error: OSError) -> str:
    advice = {
        errno.EADDRINUSE: "its local UDP port is in use; choose another, 0 for any, or end the process that has it",
        errno.EADDRNOTAVAIL: "its local address is not one of this machine's; `ip address` lists them",
        errno.EACCES: "its local UDP port needs root; choose one above 1023",
        errno.ENETUNREACH: "there is no route to its remote; check the address",
    }
    return advice.get(error.errno or 0, f"{error.strerror}; check its addresses")


def path_limit_bytes(opened: socket.socket) -> int:
    """The longest datagram that passes without fragments, as far as the kernel knows the path."""
    try:
        if opened.family == socket.AF_INET:
            mtu = opened.getsockopt(socket.IPPROTO_IP, IP_MTU)
        else:
            mtu = opened.getsockopt(socket.IPPROTO_IPV6, IPV6_MTU)
    except OSError:
        # not connected: the path is not known, and 65535 the most that IP can say
        mtu = 65535
    return mtu - HEADER_BYTES[socket.AddressFamily(opened.family)]


class UdpWire:
    """The socket and the arrays of struct mmsghdr of one end."""

    def __init__(self, spec: PortSpec, state: Any) -> None:
        self.socket = open_socket(spec)
        self._cells = aligned_bytes(MESSAGES * MESSAGE_BYTES + FRAME_HEADROOM_BYTES)
        self._names = np.zeros((MESSAGES, SOCKADDR_BYTES), np.uint8)
        self._remote = np.zeros(SOCKADDR_BYTES, np.uint8)
        self._iov_in, self._messages_in = make_messages()
        self._iov_out, self._messages_out = make_messages()
        first = address_of(self._cells) + FRAME_HEADROOM_BYTES
        self._iov_in["base"] = first + np.arange(MESSAGES) * MESSAGE_BYTES
        self._iov_in["length"] = 65_536
        self._controls_in = make_controls(self._messages_in)
        self._controls_out = make_controls(self._messages_out)
        ends = (*tell_ecn(self.socket), 4), (SOL_UDP, UDP_SEGMENT, 2)
        for place, (level, kind, size_bytes) in enumerate(ends):
            controls = self._controls_out[:, place]
            controls["bytes"], controls["level"], controls["type"] = CONTROL_VALUE + size_bytes, level, kind
        connected = spec.remote is not None
        if not connected:
            self._messages_in["name"] = address_of(self._names) + np.arange(MESSAGES) * SOCKADDR_BYTES
        state["kind"] = WireKind.UDP
        state["most_segments"] = MOST_SEGMENTS if _joins_datagrams(self.socket) else 1
        state["connected"] = connected
        state["socket"] = self.socket.fileno()
        state["messages_in"] = address_of(self._messages_in)
        state["messages_out"] = address_of(self._messages_out)
        state["controls_out"] = address_of(self._controls_out)
        state["remote"] = address_of(self._remote)
        state["peer_fifo"] = -1

    @property
    def local(self) -> tuple[str, int]:
        """The address it is bound to, with the real UDP port where 0 was asked for."""
        host, port = self.socket.getsockname()[:2]
        return str(host), int(port)


class UdpSwitchPort(SwitchPort):
    """The switch's end."""

    def __init__(self, spec: PortSpec, table: TxPortTable) -> None:
        super().__init__(spec, table)
        self._wire = UdpWire(spec, self.state)
        self._connect_switch()
        self._kept += make_private_ring(self.wire_ring, TX_CELLS)

    @property
    def descriptor(self) -> int:
        """The socket."""
        return self._wire.socket.fileno()

    @property
    def local(self) -> tuple[str, int]:
        """The address it is bound to."""
        return self._wire.local

    @property
    def max_frame_bytes(self) -> int:
        """The longest frame that can leave without fragments."""
        return min(CELL_BYTES, path_limit_bytes(self._wire.socket))

    def close(self) -> None:
        """Close the socket."""
        super().close()
        self._wire.socket.close()


class UdpHostPort(HostPort):
    """The host's end; frames may lie anywhere, so its pools are private memory."""

    def __init__(self, spec: PortSpec) -> None:
        if spec.remote is None:
            raise PortError(f"port {spec}: a host's udp port needs the switch's address; write udp:LOCAL,REMOTE")
        super().__init__(spec, Bell(shared=False, poll=True))
        try:
            self._wire = UdpWire(spec, self.state)
        except BaseException:
            self.bell.close()
            raise
        self._posts = np.zeros(HOST_POSTS, POST)
        self.state["posts"] = address_of(self._posts)
        self.state["post_mask"] = HOST_POSTS - 1
        self.state["stride_bytes"] = CELL_BYTES
        self.bell.watch(self._wire.socket.fileno())

    @property
    def local(self) -> tuple[str, int]:
        """The address it is bound to."""
        return self._wire.local

    @property
    def max_frame_bytes(self) -> int:
        """The longest frame that passes without fragments, as far as the kernel knows the path."""
        return min(CELL_BYTES, path_limit_bytes(self._wire.socket))

    def frame_pool(self, count: int, stride_bytes: int) -> FramePool:
        """See HostPort."""
        stride_bytes = pool_stride(stride_bytes)
        return pool_over(aligned_bytes(pool_bytes(count, stride_bytes)), count, stride_bytes)

    def close(self) -> None:
        """Close the socket."""
        super().close()
        self._wire.socket.close()
        self.bell.close()
