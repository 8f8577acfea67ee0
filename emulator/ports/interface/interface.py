"""A port on a network interface of this machine: whole Ethernet frames through packet sockets (AF_PACKET).

Two sockets: frames come in through a ring that the kernel fills (see ``packet_socket``), and go out by sendmmsg,
straight from the switch's cells. Measured on veth: a ring costs a third less than recvmmsg for each frame forwarded;
its newer format (TPACKET_V3) saves a few per cent more but holds frames back for a millisecond; a ring for sending
gains nothing, for the kernel copies out of it there too.

The interface is in promiscuous mode while the port is open. The machine's own protocols keep using it: give it no
address, or disable them, if they should not answer.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import logging
import mmap
import socket
import struct
import threading

from emulator.native.pages import CACHE_LINE_BYTES, address_of
from emulator.ports.batch import CELL_BYTES, FRAME_HEADROOM_BYTES, TxPortTable
from emulator.ports.errors import PortError
from emulator.ports.interface.packet_socket import OFFLOAD_BYTES, SLOT_HEADER, TAG_BYTES
from emulator.ports.port import PortStatistics, SwitchPort, make_private_ring
from emulator.ports.sockets.mmsg import make_messages
from emulator.ports.spec import PortSpec
from emulator.ports.state import WireKind

log = logging.getLogger("netsum.ports")

SOL_PACKET = 263
PACKET_ADD_MEMBERSHIP, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION = 1, 5, 6, 10
PACKET_RESERVE, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 12, 15, 23
TPACKET_V2, PACKET_MR_PROMISC = 1, 1
"""linux/if_packet.h; Python's socket module does not name them."""
ETH_P_ALL = 0x0003
SIOCGIFFLAGS, SIOCGIFMTU = 0x8913, 0x8921
IFF_RUNNING = 0x40
IFF_UP = 1
ARPHRD_ETHER, ARPHRD_LOOPBACK = 1, 772

ETHERNET_HEADER_BYTES = 14
LEAST_NETWORK_OFFSET_BYTES = 16
"""The kernel leaves at least this for the link's header (tpacket_rcv)."""

RESERVE_BYTES = 50
"""Room before a frame: for its tag put back, and so that its lanes start a cache line as in a cell."""
FRAME_OFFSET_BYTES = (
    -(-(SLOT_HEADER.itemsize + LEAST_NETWORK_OFFSET_BYTES) // 16) * 16
    + RESERVE_BYTES
    + OFFLOAD_BYTES
    - ETHERNET_HEADER_BYTES
)
assert FRAME_OFFSET_BYTES % CACHE_LINE_BYTES == FRAME_HEADROOM_BYTES

SLOTS, LEAST_SLOTS = 4096, 256
RING_BYTES = 32 << 20
"""Frames in flight to a busy switch; fewer where frames are long, so that a port takes no more memory than this."""
SLOTS_PER_BLOCK = 64
"""Slots of a block: as many as make it whole pages with slots one behind the other, whatever their size."""

TX_CELLS = 1024
SEND_BUFFER_BYTES = 4 << 20


def interface_mtu(any_socket: socket.socket, name: str) -> int:
    """The longest packet the interface takes, without Ethernet's header. Raises OSError."""
    return int(struct.unpack_from("i", _request(any_socket, name, SIOCGIFMTU), 16)[0])


def interface_is_up(any_socket: socket.socket, name: str) -> bool:
    """Whether it was switched on; it may still have no carrier. Raises OSError."""
    return bool(struct.unpack_from("H", _request(any_socket, name, SIOCGIFFLAGS), 16)[0] & IFF_UP)


def interface_is_running(any_socket: socket.socket, name: str) -> bool:
    """Whether it is switched on and has a carrier. Raises OSError."""
    flags = struct.unpack_from("H", _request(any_socket, name, SIOCGIFFLAGS), 16)[0]
    return bool(flags & IFF_UP) and bool(flags & IFF_RUNNING)


def _request(any_socket: socket.socket, name: str, request: int) -> bytes:
    """Ask about an interface of the network namespace that a socket belongs to."""
    return fcntl.ioctl(any_socket, request, struct.pack("16s24x", name.encode()))


def _open_socket(spec: PortSpec) -> socket.socket:
    try:
        return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    except PermissionError:
        raise PortError(
            f"port {spec}: this process may not open packet sockets; run it as root, or give its Python that right: "
            'sudo setcap cap_net_raw+ep "$(readlink -f .venv/bin/python)"'
        ) from None
    except OSError as error:
        raise PortError(f"port {spec}: no packet sockets here ({error.strerror}); they need Linux") from error


class PacketRing:
    """A socket for frames in, and its ring of ``slots`` slots of ``slot_bytes`` at ``address``."""

    def __init__(self, spec: PortSpec, longest_bytes: int) -> None:
        self.slot_bytes = -(-(FRAME_OFFSET_BYTES + longest_bytes) // CACHE_LINE_BYTES) * CACHE_LINE_BYTES
        # an odd number of cache lines: slots a power of two apart would share few places in a cache
        self.slot_bytes += CACHE_LINE_BYTES * (self.slot_bytes // CACHE_LINE_BYTES % 2 == 0)
        self.slots = SLOTS
        while self.slots > LEAST_SLOTS and self.slots * self.slot_bytes > RING_BYTES:
            self.slots //= 2
        self.socket = _open_socket(spec)
        try:
            self.socket.setblocking(False)
            self._set_options()
            self._memory = mmap.mmap(self.socket.fileno(), self.slots * self.slot_bytes)
            self._anchor = ctypes.c_char.from_buffer(self._memory)
            self.address = ctypes.addressof(self._anchor)
            self.socket.bind((spec.name, ETH_P_ALL))
            self._be_promiscuous(socket.if_nametoindex(spec.name))
        except BaseException:
            self.socket.close()
            raise

    def _set_options(self) -> None:
        for option, value in (
            (PACKET_VERSION, TPACKET_V2),
            (PACKET_RESERVE, RESERVE_BYTES),
            (PACKET_VNET_HDR, 1),
            (PACKET_IGNORE_OUTGOING, 1),
        ):
            self.socket.setsockopt(SOL_PACKET, option, value)
        block_bytes, blocks = SLOTS_PER_BLOCK * self.slot_bytes, self.slots // SLOTS_PER_BLOCK
        request = struct.pack("IIII", block_bytes, blocks, self.slot_bytes, self.slots)
        self.socket.setsockopt(SOL_PACKET, PACKET_RX_RING, request)

    def _be_promiscuous(self, index: int) -> None:
        self.socket.setsockopt(
            SOL_PACKET, PACKET_ADD_MEMBERSHIP, struct.pack("iHH8s", index, PACKET_MR_PROMISC, 0, b"")
        )

    def dropped(self) -> int:
        """Frames the kernel had no slot for since the last call."""
        return int(struct.unpack("II", self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1])

    def close(self) -> None:
        """Leave the interface and give the memory back."""
        self.socket.close()
        del self._anchor
        self._memory.close()


class InterfacePort(SwitchPort):
    """The switch's end of a port on an interface."""

    def __init__(self, spec: PortSpec, table: TxPortTable) -> None:
        super().__init__(spec, table)
        self._kernel_dropped = 0
        self._warned = False
        self._statistics_lock = threading.Lock()
        self._iov, self._messages = make_messages()
        self._sender: socket.socket | None = None
        self._ring: PacketRing | None = None
        try:
            self._open()
        except OSError as error:
            self._close_sockets()
            raise PortError(f"port {spec}: {_explain(spec.name, error)}") from error
        except BaseException:
            self._close_sockets()
            raise

    def _open(self) -> None:
        self._sender = _open_socket(self.spec)
        if not interface_is_up(self._sender, self.spec.name):
            raise OSError(errno.ENETDOWN, "Network is down")
        longest = interface_mtu(self._sender, self.spec.name) + ETHERNET_HEADER_BYTES + TAG_BYTES
        self.cell_bytes = max(CELL_BYTES, -(-longest // CACHE_LINE_BYTES) * CACHE_LINE_BYTES)
        self._ring = PacketRing(self.spec, longest)
        self._sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        self._sender.bind((self.spec.name, 0))
        if self._sender.getsockname()[3] not in (ARPHRD_ETHER, ARPHRD_LOOPBACK):
            raise PortError(f"port {self.spec}: the interface carries no Ethernet frames; choose one that does")
        self._place(self._ring, self._sender)
        self._connect_switch()
        self._kept += make_private_ring(self.wire_ring, TX_CELLS, self.cell_bytes)

    def _place(self, ring: PacketRing, sender: socket.socket) -> None:
        state = self.state
        state["kind"] = WireKind.PACKET
        state["connected"] = 1
        state["socket"], state["receiver"] = sender.fileno(), ring.socket.fileno()
        state["messages_out"] = address_of(self._messages)
        state["slots"], state["slot_bytes"], state["slot_mask"] = ring.address, ring.slot_bytes, ring.slots - 1
        state["peer_fifo"] = -1

    @property
    def descriptor(self) -> int:
        """The socket that frames come in by."""
        return int(self.state["receiver"])

    @property
    def max_frame_bytes(self) -> int:
        """The longest frame that can leave, without a VLAN tag. Raises OSError where the interface is gone."""
        assert self._sender is not None, "the port is closed"
        return interface_mtu(self._sender, self.spec.name) + ETHERNET_HEADER_BYTES

    @property
    def is_up(self) -> bool:
        """Switched on, and with a carrier."""
        try:
            sender = self._sender
            return sender is not None and interface_is_running(sender, sender.getsockname()[0])
        except OSError:  # gone
            return False

    def attend(self) -> None:
        """Tell the log what became of the interface, and how senders have to be set up."""
        if not self.state["notice"] or self._sender is None:
            return
        self.state["notice"] = 0
        if self.state["segments_joined"] and not self._warned:
            self._warned = True
            log.warning(
                "port %s: a sender uses segmentation offload (TSO, GSO); such frames are dropped: disable it "
                "at the sender, ip link set INTERFACE gso_max_segs 1",
                self.spec,
            )
        # by its number: another interface of that name would be another interface
        name = self._sender.getsockname()[0]
        if not name:
            problem = "is gone; frames for it are dropped: create it again and restart the switch"
        elif not interface_is_up(self._sender, name):
            problem = "is down; frames for it are dropped until it is up again"
        else:
            return
        log.error("port %s: interface %s %s", self.spec, self.spec.name, problem)

    def statistics(self) -> PortStatistics:
        """See SwitchPort; the kernel's drops are among the drops."""
        found = super().statistics()
        with self._statistics_lock:
            if self._ring is not None:
                self._kernel_dropped += self._ring.dropped()
            if self._kernel_dropped:
                found.drops["kernel_ring_full"] = self._kernel_dropped
        return found

    def close(self) -> None:
        """Leave the interface."""
        super().close()
        self._close_sockets()

    def _close_sockets(self) -> None:
        with self._statistics_lock:
            if self._ring is not None:
                self._kernel_dropped += self._ring.dropped()
                self._ring.close()
            if self._sender is not None:
                self._sender.close()
            self._ring = self._sender = None


def _explain(name: str, error: OSError) -> str:
    advice = {
        errno.ENODEV: f"there is no interface {name!r} here; `ip link` lists them",
        errno.ENXIO: f"there is no interface {name!r} here; `ip link` lists them",
        errno.ENETDOWN: f"the interface is down; `ip link set {name} up` brings it up",
        errno.ENOMEM: "no memory for its ring of frames; free some, or give the interface a smaller MTU",
        errno.ENOPROTOOPT: "the kernel is too old: Linux 4.20 or newer is needed",
    }
    return advice.get(error.errno or 0, f"{error.strerror}; check the interface with `ip -d link show {name}`")
