"""A test's end of a veth pair."""

from __future__ import annotations

import socket
import struct

ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 263, 8, 23
TP_STATUS_VLAN_VALID = 0x10


class PacketSocket:
    """Plain frames in and out, without waiting."""

    def __init__(self, interface: str) -> None:
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.socket.bind((interface, ETH_P_ALL))
        self.socket.setblocking(False)

    def send(self, frame: bytes) -> None:
        self.socket.send(frame)

    def receive(self) -> bytes:
        """The next frame, with its tag where the kernel took one out. Raises BlockingIOError when there is none."""
        frame, ancillary, _, _ = self.socket.recvmsg(1 << 16, 256)
        for level, kind, data in ancillary:
            if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                status, _, _, _, _, tag, tag_type = struct.unpack("IIIHHHH", data)
                if status & TP_STATUS_VLAN_VALID:
                    return frame[:12] + struct.pack(">HH", tag_type, tag) + frame[12:]
        return frame

    def close(self) -> None:
        self.socket.close()
