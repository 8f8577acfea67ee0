"""Tests on real interfaces: inside a network namespace, and frames by plain packet sockets."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hostagent.cli.benchmarks.veth import NoNamespaces, VethPairs

CLONE_NEWNET = 0x4000_0000
SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 263, 8, 23
ETH_P_ALL = 3
PATIENCE_S = 20.0


@contextmanager
def veth_pairs(pairs: int = 2, mtu: int = 1500) -> Iterator[VethPairs]:
    """Skips the test, with the reason, where namespaces can't be had."""
    network = VethPairs(pairs, mtu=mtu)
    try:
        network.__enter__()
    except NoNamespaces as error:
        pytest.skip(str(error))
    try:
        yield network
    finally:
        network.__exit__(None, None, None)


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Sockets that this thread makes belong to the namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    other = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        assert libc.setns(other, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        yield
    finally:
        assert libc.setns(own, CLONE_NEWNET) == 0
        os.close(own)
        os.close(other)


class Wire:
    """A host's plain packet socket on an interface."""

    def __init__(self, namespace: str, interface: str) -> None:
        with inside(namespace):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            self.socket.bind((interface, ETH_P_ALL))
            self.socket.settimeout(PATIENCE_S)

    def send(self, frame: bytes) -> None:
        self.socket.send(frame)

    def receive(self) -> bytes:
        """The next frame, with its tag where the kernel took one out."""
        frame, ancillary, _, _ = self.socket.recvmsg(1 << 16, 256)
        for level, kind, data in ancillary:
            if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                status, _, _, _, _, tag, tag_type = struct.unpack("IIIHHHH", data)
                if status & 0x10:
                    return frame[:12] + struct.pack(">HH", tag_type, tag) + frame[12:]
        return frame

    def close(self) -> None:
        self.socket.close()
