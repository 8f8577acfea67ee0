"""The port of bmv2's Thrift server, which scripts look at to see whether a switch has started.

There is no such server here. A client (such as simple_switch_CLI) gets Thrift's own error for an unknown method, with a
text that says so, rather than a connection that ends without a reason.
"""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from typing import Any

CALL, EXCEPTION = 0x8001_0001, 0x8001_0003
"""The first word of a message in Thrift's binary protocol: version 1, and the kind of message."""
STRING, I32 = 11, 8
"""Types of fields."""
UNKNOWN_METHOD = 1
LONGEST_NAME = 4096
PATIENCE_S = 5.0
TEXT = "netsum's simple_switch_grpc has no Thrift server: use P4Runtime"


class ThriftPort:
    """Listens on all addresses until it is closed; a context manager. Raises OSError where the port is taken."""

    def __init__(self, port: int) -> None:
        self._server = _Server(("", port), _Connection)
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

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes, or says nothing, is no error."""


class _Connection(socketserver.BaseRequestHandler):
    request: socket.socket

    def handle(self) -> None:
        self.request.settimeout(PATIENCE_S)
        with self.request.makefile("rb") as stream:
            word, length = struct.unpack(">II", stream.read(8))
            if word == CALL and length <= LONGEST_NAME:
                name, sequence = stream.read(length), stream.read(4)
                self.request.sendall(answer(name, sequence))


def answer(name: bytes, sequence: bytes) -> bytes:
    """The message that says that a call cannot be done."""
    text = TEXT.encode()
    header = struct.pack(">II", EXCEPTION, len(name)) + name + sequence
    return header + struct.pack(f">bhI{len(text)}sbhIb", STRING, 1, len(text), text, I32, 2, UNKNOWN_METHOD, 0)
