"""Command lines over gRPC, next to P4Runtime: ``/netsum.switch.v1.Commands/Run`` and ``Complete``.

Requests and answers are google.protobuf.StringValue, so a client needs no generated code: a line in, what to print out;
the beginning of a line in, what its last word may become out, one in a line. As with bmv2's Thrift server there is no
arbitration: commands may change what a P4Runtime controller has written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf import wrappers_pb2

if TYPE_CHECKING:
    from emulator.p4runtime.commands.interpreter import Interpreter

SERVICE = "netsum.switch.v1.Commands"


def commands_handler(make: Callable[[], Interpreter]) -> Any:
    """A gRPC handler; the interpreter is made at the first command, as most switches never get one."""
    lock = threading.Lock()
    made: list[Interpreter] = []

    def interpreter() -> Interpreter:
        if not made:
            made.append(make())
        return made[0]

    def run(request: Any, _context: Any) -> Any:
        with lock:
            return wrappers_pb2.StringValue(value=interpreter().run(request.value))

    def complete(request: Any, _context: Any) -> Any:
        with lock:
            return wrappers_pb2.StringValue(value="\n".join(interpreter().complete(request.value)))

    methods = {
        name: grpc.unary_unary_rpc_method_handler(
            function, wrappers_pb2.StringValue.FromString, wrappers_pb2.StringValue.SerializeToString
        )
        for name, function in (("Run", run), ("Complete", complete))
    }
    return grpc.method_handlers_generic_handler(SERVICE, methods)


class CommandsClient:
    """A connection to the switch with the P4Runtime server at ``HOST:PORT``. Calls raise grpc.RpcError."""

    def __init__(self, address: str, credentials: Any = None, timeout_s: float = 60.0) -> None:
        """``credentials``: gRPC's channel credentials for TLS; None: plain text."""
        secure = credentials is not None
        self._channel = grpc.secure_channel(address, credentials) if secure else grpc.insecure_channel(address)
        self._timeout_s = timeout_s

    def run(self, line: str) -> str:
        return self._call("Run", line)

    def complete(self, line: str) -> list[str]:
        return self._call("Complete", line).split("\n")

    def close(self) -> None:
        self._channel.close()

    def _call(self, method: str, text: str) -> str:
        call = self._channel.unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=wrappers_pb2.StringValue.SerializeToString,
            response_deserializer=wrappers_pb2.StringValue.FromString,
        )
        return str(call(wrappers_pb2.StringValue(value=text), timeout=self._timeout_s).value)
