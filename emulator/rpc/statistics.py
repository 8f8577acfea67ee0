"""Counters of a running switch, over a gRPC service next to P4Runtime: ``/netsum.switch.v1.Switch/GetStatistics``.

The request is a google.protobuf.Empty, the answer a google.protobuf.Struct, so a client needs no generated code;
numbers are exact up to 2**53. The answer's keys:

* ``device_id``, ``pid``, ``engine``, ``program`` (name, or null), ``p4runtime`` (the address listened on);
* ``ports``: by port number, ``spec`` and what ``emulator.ports.port.PortStatistics`` says: ``frames_in``, ``bytes_in``,
  ``frames_out``, ``bytes_out`` (without FCS), ``drops`` by reason, ``notes``, ``bells_rung``, ``peer_changes``,
  ``links`` and ``queued_out`` (frames that the other end has not taken);
* ``drops``: packets that left by no port, by reason; ``faults``: what the program did without effect, by kind;
* ``loop``: ``turns``, ``frames``, ``sleeps``, ``no_program`` of the live loop.

Port counts run since the port was opened, drops and faults since the program was loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf import empty_pb2, json_format, struct_pb2

from emulator.rpc.tls import ClientTls, TlsError

SERVICE = "netsum.switch.v1.Switch"
METHOD = f"/{SERVICE}/GetStatistics"


class StatisticsError(Exception):
    """The switch did not answer; the text is for the user."""


def statistics_handler(collect: Callable[[], dict[str, Any]]) -> Any:
    """A gRPC handler that answers with what ``collect`` returns (JSON-like)."""

    def handle(_request: Any, _context: Any) -> Any:
        return json_format.ParseDict(collect(), struct_pb2.Struct())

    method = grpc.unary_unary_rpc_method_handler(
        handle, empty_pb2.Empty.FromString, struct_pb2.Struct.SerializeToString
    )
    return grpc.method_handlers_generic_handler(SERVICE, {"GetStatistics": method})


def read_statistics(address: str, timeout_s: float = 5.0, tls: ClientTls | None = None) -> dict[str, Any]:
    """Ask the switch with the P4Runtime server at ``HOST:PORT``. Raises StatisticsError."""
    try:
        opened = grpc.insecure_channel(address) if tls is None else grpc.secure_channel(address, tls.credentials())
    except TlsError as error:
        raise StatisticsError(f"no statistics from the switch at {address}: {error}") from error
    with opened as channel:
        call = channel.unary_unary(
            METHOD,
            request_serializer=empty_pb2.Empty.SerializeToString,
            response_deserializer=struct_pb2.Struct.FromString,
        )
        try:
            answer = call(empty_pb2.Empty(), timeout=timeout_s)
        except grpc.RpcError as error:
            away = error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
            reason = "nothing answers there" if away else error.details()
            raise StatisticsError(f"no statistics from the switch at {address}: {reason}") from error
    statistics: dict[str, Any] = _with_whole_numbers(json_format.MessageToDict(answer))
    return statistics


def _with_whole_numbers(value: Any) -> Any:
    """A Struct's numbers are doubles; counts are shown as integers again."""
    if isinstance(value, dict):
        return {key: _with_whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
