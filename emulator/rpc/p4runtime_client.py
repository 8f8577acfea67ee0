"""A P4Runtime client: one connection to one device, its stream, its calls. The product's and the tests' only one.

Both ends of P4Runtime may import this module, as they may `p4protos`: a controller is on the host's side, the harness
on the switch's. Failures are gRPC's own exceptions; `errors_of` reads the details that P4Runtime puts into them.
"""

from __future__ import annotations

import queue
from collections.abc import Iterable, Sequence
from typing import Any

import grpc
from google.rpc import status_pb2

from emulator.rpc.p4protos import p4runtime_pb2 as p4
from emulator.rpc.p4protos import p4runtime_pb2_grpc

CALL_TIMEOUT_S = 10.0
PIPELINE_TIMEOUT_S = 60.0
"""The switch compiles the program in this call: seconds, when nothing is cached."""

INSERT, MODIFY, DELETE = (p4.Update.Type.Value(name) for name in ("INSERT", "MODIFY", "DELETE"))


class P4RuntimeClient:
    """The unary calls of one device. Whoever has an election id sets `election_id`; it goes into every request."""

    def __init__(
        self, address: str, device_id: int = 0, *, options: Sequence[tuple[str, Any]] = (),
        credentials: Any = None, timeout_s: float = CALL_TIMEOUT_S, pipeline_timeout_s: float = PIPELINE_TIMEOUT_S,
    ) -> None:  # fmt: skip
        """``address`` is HOST:PORT; ``options`` are gRPC's channel options, ``credentials`` its channel credentials
        (None: no TLS). Connects at the first call."""
        self.address = address
        self.device_id = device_id
        self.timeout_s = timeout_s
        self.pipeline_timeout_s = pipeline_timeout_s
        self.election_id: Any = None
        """A ``p4.v1.Uint128``, or None for requests without one."""
        self.channel = (
            grpc.insecure_channel(address, options=tuple(options))
            if credentials is None
            else grpc.secure_channel(address, credentials, options=tuple(options))
        )
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)

    def connect(self, timeout_s: float) -> None:
        """Waits for the server. Raises grpc.FutureTimeoutError after ``timeout_s``."""
        grpc.channel_ready_future(self.channel).result(timeout=timeout_s)

    def close(self) -> None:
        self.channel.close()

    def request(self, kind: Any, **fields: Any) -> Any:
        """A request message of this device, with the election id where there is one."""
        request = kind(device_id=self.device_id, **fields)
        if self.election_id is not None:
            request.election_id.CopyFrom(self.election_id)
        return request

    def pipeline(self, response_type: str = "ALL") -> Any:
        """The ForwardingPipelineConfig as far as ``response_type`` says; None where the answer has none."""
        kind = p4.GetForwardingPipelineConfigRequest.ResponseType.Value(response_type)
        request = p4.GetForwardingPipelineConfigRequest(device_id=self.device_id, response_type=kind)
        answer = self.stub.GetForwardingPipelineConfig(request, timeout=self.timeout_s)
        return answer.config if answer.HasField("config") else None

    def set_pipeline(self, config: Any, action: str = "VERIFY_AND_COMMIT") -> None:
        """``config`` is a ForwardingPipelineConfig, or the bytes of a device config that has its P4Info inside."""
        request = self.request(p4.SetForwardingPipelineConfigRequest)
        request.action = p4.SetForwardingPipelineConfigRequest.Action.Value(action)
        if isinstance(config, bytes):
            request.config.p4_device_config = config
        else:
            request.config.CopyFrom(config)
        self.stub.SetForwardingPipelineConfig(request, timeout=self.pipeline_timeout_s)

    def write(self, updates: Iterable[tuple[int, Any]]) -> None:
        """(update type, entity) pairs in order, each carried out or refused by itself (CONTINUE_ON_ERROR)."""
        request = self.request(p4.WriteRequest)
        for kind, entity in updates:
            request.updates.add(type=kind, entity=entity)
        self.stub.Write(request, timeout=self.timeout_s)

    def read(self, entities: Iterable[Any], timeout_s: float | None = None) -> list[Any]:
        """All entities that match, wildcards included."""
        request = p4.ReadRequest(device_id=self.device_id, entities=entities)
        answers = self.stub.Read(request, timeout=timeout_s or self.timeout_s)
        return [entity for answer in answers for entity in answer.entities]

    def arbitration(self, election_id: int | None, device_id: int | None = None, role: str = "") -> Any:
        """The MasterArbitrationUpdate to send on a stream; its ``election_id`` goes into later requests, too."""
        message = p4.StreamMessageRequest()
        message.arbitration.device_id = self.device_id if device_id is None else device_id
        if role:
            message.arbitration.role.name = role
        if election_id is not None:
            message.arbitration.election_id.high, message.arbitration.election_id.low = divmod(election_id, 1 << 64)
            self.election_id = message.arbitration.election_id
        return message


def open_stream(channel: Any, **settings: Any) -> Any:
    """StreamChannel on a channel of gRPC, also of its asyncio kind; ``settings`` are the call's."""
    return p4runtime_pb2_grpc.P4RuntimeStub(channel).StreamChannel(**settings)


class StreamClient(P4RuntimeClient):
    """A client with its own StreamChannel: for callers that take the stream's messages one by one.

    For a stream that stays open for hours an event loop costs less: `open_stream` on a channel of `grpc.aio`.
    """

    def __init__(self, address: str, device_id: int = 0, *, stream_s: float | None = None, **settings: Any) -> None:
        """The stream ends after ``stream_s`` seconds; None: never by itself."""
        super().__init__(address, device_id, **settings)
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.stream = open_stream(self.channel, request_iterator=iter(self._requests.get, None), timeout=stream_s)

    def send(self, message: Any) -> None:
        self._requests.put(message)

    def next(self) -> Any:
        """The next message of the stream; blocks for it."""
        return next(self.stream)

    def ask(self, election_id: int | None, device_id: int | None = None, role: str = "") -> None:
        """Sends an arbitration update; an ``election_id`` goes into later requests, too."""
        self.send(self.arbitration(election_id, device_id, role))

    def arbitrate(self, election_id: int | None, **fields: Any) -> Any:
        """Sends an arbitration update and returns the next message of the stream."""
        self.ask(election_id, **fields)
        return self.next()

    def end(self) -> None:
        """Half-closes the stream."""
        self._requests.put(None)

    def close(self) -> None:
        self.end()
        super().close()


def errors_of(error: grpc.RpcError) -> list[Any]:
    """The ``p4.v1.Error`` of each update of a refused write, in order (P4Runtime, "Error Reporting"); perhaps none."""
    errors = []
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for packed in status_pb2.Status.FromString(value).details:
                detail = p4.Error()
                if packed.Unpack(detail):
                    errors.append(detail)
    return errors
