"""The port of bmv2's Thrift server, which scripts look at to see whether a switch has started.

There is no such server here: one method is answered, with the address of the switch's P4Runtime server, by which our
simple_switch_CLI finds the switch. Other clients get Thrift's own error for an unknown method, with a text that says
so, rather than a connection that ends without a reason.
"""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from typing import Any

CALL, REPLY, EXCEPTION = 0x8001_0001, 0x8001_0002, 0x8001_0003
"""The first word of a message in Thrift's binary protocol: version 1, and the kind of message."""
STRING, I32 = 11, 8
"""Types of fields."""
UNKNOWN_METHOD = 1
LONGEST_NAME = 4096
PATIENCE_S = 5.0
TEXT = "netsum's simple_switch_grpc has no Thrift server: use P4Runtime, or netsum's simple_switch_CLI"
ANY_HOST = ("0.0.0.0", "[::]", "")
ADDRESS_METHOD = b"netsum_p4runtime_address"


class ThriftPort:
    """Listens on all addresses until it is closed; a context manager. Raises OSError where the port is taken."""

    def __init__(self, port: int, p4runtime: str) -> None:
        """``p4runtime``: HOST:PORT of the switch's P4Runtime server."""
        self._server = _Server(("", port), _Connection)
        self._server.p4runtime = p4runtime
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="netsum-thrift", daemon=True)
        self._thread.start()

    def __enter__(self) -> ThriftPort:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    p4runtime = ""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes, or says nothing, is not an error."""


class _Connection(socketserver.BaseRequestHandler):
    request: socket.socket
    server: _Server

    def handle(self) -> None:
        self.request.settimeout(PATIENCE_S)
        with self.request.makefile("rb") as stream:
            word, length = struct.unpack(">II", stream.read(8))
            if word == CALL and length <= LONGEST_NAME:
                name, sequence = stream.read(length), stream.read(4)
                self.request.sendall(answer(name, sequence, self.server.p4runtime))


def answer(name: bytes, sequence: bytes, p4runtime: str) -> bytes:
    """The message that answers a call: an address, or that it cannot be done."""
    if name == ADDRESS_METHOD:
        text = p4runtime.encode()
        header = struct.pack(">II", REPLY, len(name)) + name + sequence
        return header + struct.pack(f">bhI{len(text)}sb", STRING, 0, len(text), text, 0)
    text = TEXT.encode()
    header = struct.pack(">II", EXCEPTION, len(name)) + name + sequence
    return header + struct.pack(f">bhI{len(text)}sbhIb", STRING, 1, len(text), text, I32, 2, UNKNOWN_METHOD, 0)


def p4runtime_address(host: str, port: int) -> str | None:
    """HOST:PORT of the P4Runtime server of the switch with this Thrift port; None where it is another kind of switch.

    Raises OSError where nothing listens.
    """
    call = struct.pack(">II", CALL, len(ADDRESS_METHOD)) + ADDRESS_METHOD + struct.pack(">Ib", 0, 0)
    with socket.create_connection((host, port), PATIENCE_S) as connection, connection.makefile("rb") as stream:
        connection.sendall(call)
        try:
            word, length = struct.unpack(">II", stream.read(8))
            if word != REPLY or stream.read(length) != ADDRESS_METHOD:
                return None
            _, kind, _, length = struct.unpack(">IbhI", stream.read(11))
            address = stream.read(min(length, LONGEST_NAME)).decode()
        except (struct.error, OSError, ValueError):
            return None
    address_host, _, p4runtime_port = address.rpartition(":")
    return f"{host if address_host in ANY_HOST else address_host}:{p4runtime_port}" if kind == STRING else None
