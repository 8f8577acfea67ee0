"""Impairments of a running switch's ports, over a gRPC service beside its own: ``/netsum.ports.v1.Ports/Impair``.

The request is JSON, ``{"ports": {"3": {"in": FIELDS, "out": FIELDS}}}`` with the fields of `Impairments`, the answer an
empty object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

import grpc

from emulator.ports.errors import PortError
from emulator.ports.port import SwitchPort
from emulator.ports.spec import Impairments

SERVICE = "netsum.ports.v1.Ports"
METHOD = f"/{SERVICE}/Impair"

BothWays: TypeAlias = tuple[Impairments, Impairments]
"""Of frames into the switch, and out of it."""


class ControlError(Exception):
    """The switch did not change a port; the text is for the user."""


def ports_handler(ports: Sequence[SwitchPort]) -> Any:
    """A gRPC handler that changes these ports."""
    by_number = {port.number: port for port in ports}

    def handle(request: Any, context: Any) -> Any:
        try:
            for number, ways in request["ports"].items():
                by_number[int(number)].impair(Impairments(**ways["in"]), Impairments(**ways["out"]))
        except (PortError, KeyError, TypeError, ValueError) as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{type(error).__name__}: {error}")
        return {}

    method = grpc.unary_unary_rpc_method_handler(handle, json.loads, _packed)
    return grpc.method_handlers_generic_handler(SERVICE, {"Impair": method})


def impair_ports(address: str, ports: Mapping[int, BothWays], timeout_s: float = 5.0) -> None:
    """Ask the switch with a gRPC server at ``HOST:PORT``. Raises ControlError."""
    wanted = {str(port): {"in": asdict(ways[0]), "out": asdict(ways[1])} for port, ways in ports.items()}
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(METHOD, request_serializer=_packed, response_deserializer=json.loads)
        try:
            call({"ports": wanted}, timeout=timeout_s)
        except grpc.RpcError as error:
            raise ControlError(f"the switch at {address} did not change its ports: {error.details()}") from error


def _packed(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode()
