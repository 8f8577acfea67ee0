"""Tests on real interfaces: inside a network namespace, and frames by plain packet sockets."""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from emulator.harness.bmv2 import packet_socket as packet_socket
from hostagent.cli.bench.veth import NoNamespaces, VethPairs

CLONE_NEWNET = 0x4000_0000
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


class Wire(packet_socket.PacketSocket):
    """A host's plain packet socket on an interface of a namespace; receiving waits PATIENCE_S."""

    def __init__(self, namespace: str, interface: str) -> None:
        with inside(namespace):
            super().__init__(interface)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.settimeout(PATIENCE_S)
