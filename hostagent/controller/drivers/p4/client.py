"""One connection to a P4Runtime server: arbitration, pipeline, batches of writes, reads. Every call has a time-out."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import grpc
from google.rpc import code_pb2

from emulator.rpc.p4runtime_client import CALL_TIMEOUT_S, P4RuntimeClient, errors_of, open_stream
from hostagent.controller.drivers.watched_stream import WatchedStream
from hostagent.protocol.services.reasons import reason_of

CONNECT_TIMEOUT_S = 5.0

LARGEST_MESSAGE_BYTES = 256 << 20
"""As simple_switch_grpc's: bmv2's JSON for many lanes is long."""

CHANNEL_OPTIONS = (
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),  # gRPC would wait a second before it looks for a switch that comes back
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.max_receive_message_length", LARGEST_MESSAGE_BYTES),
    ("grpc.max_send_message_length", LARGEST_MESSAGE_BYTES),
)

_AWAY = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.PERMISSION_DENIED,  # another controller has become primary
    grpc.StatusCode.FAILED_PRECONDITION,  # no pipeline
)


class SwitchAway(Exception):
    """The server can't be reached, lost its pipeline, or has another primary controller: connect again."""


class SwitchRefused(Exception):
    """The server answered no. `codes`: the canonical code of each update of a write, 0 where it was carried out.
    `status`: that of the call."""

    def __init__(self, message: str, codes: tuple[int, ...] = (), status: grpc.StatusCode = grpc.StatusCode.UNKNOWN):
        super().__init__(message)
        self.codes = codes
        self.status = status


class P4Client:
    """Primary of one device, from `open` until `on_broken` is called or `close`.

    The stream is a `WatchedStream`, its end is detected at once; calls are those of `P4RuntimeClient`, with failures as
    SwitchAway and SwitchRefused.
    """

    def __init__(
        self,
        address: str,
        device_id: int,
        on_broken: Callable[[], None],
        loop: asyncio.AbstractEventLoop,
        credentials: Any = None,
    ):
        """`on_broken` is called once, on the loop, when the stream ends by itself. `credentials`: for TLS."""
        self._credentials = credentials
        self._address = address
        self._on_broken = on_broken
        self._loop = loop
        self._client = P4RuntimeClient(address, device_id, options=CHANNEL_OPTIONS, credentials=credentials)
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._stream: WatchedStream | None = None

    def open(self) -> None:
        """Connects and becomes primary. Raises SwitchAway.

        The election id is the time, so that a controller that was started later takes over from one that hangs.
        """
        try:
            self._client.connect(CONNECT_TIMEOUT_S)
        except grpc.FutureTimeoutError:
            raise SwitchAway(f"nothing answers at {self._address}") from None
        self._stream = WatchedStream(
            self._loop,
            self._address,
            CHANNEL_OPTIONS,
            open_stream,
            self._received,
            self._ended,
            self._credentials,
        )
        election_id = time.time_ns()
        for _ in range(2):
            answer = self._arbitrate(self._stream, election_id)
            if answer.status.code == code_pb2.OK:
                return
            primary_id = answer.election_id.high << 64 | answer.election_id.low
            election_id = max(election_id, primary_id + 1)
        raise SwitchAway(f"{self._address}: another controller is primary (election id {primary_id})")

    def close(self) -> None:
        """Ends stream and connection."""
        if self._stream is not None:
            self._stream.close()
        self._client.close()

    def _arbitrate(self, stream: WatchedStream, election_id: int) -> Any:
        stream.send(self._client.arbitration(election_id))
        with contextlib.suppress(Empty):
            answer = self._answers.get(timeout=CALL_TIMEOUT_S)
            if answer is not None:
                return answer
        raise SwitchAway(f"{self._address} did not answer to arbitration for device {self._client.device_id}")

    def _received(self, message: Any) -> None:
        if message.WhichOneof("update") == "arbitration":
            self._answers.put(message.arbitration)

    def _ended(self, error: grpc.RpcError | None) -> None:
        self._answers.put(None)
        self._on_broken()

    # --- calls ---

    def pipeline(self, response_type: str) -> Any:
        """The ForwardingPipelineConfig as far as `response_type` says; None where none is set."""
        try:
            return self._client.pipeline(response_type)
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.FAILED_PRECONDITION:
                return None
            raise _translated(error) from error

    def set_pipeline(self, config: Any) -> None:
        """Loads a program, which empties the switch."""
        self._call(lambda: self._client.set_pipeline(config))

    def write(self, updates: list[tuple[Any, Any]]) -> None:
        """(update type, entity) pairs, in order, not atomic. Raises SwitchRefused if any of them failed."""
        if updates:
            self._call(lambda: self._client.write(updates))

    def read(self, entities: list[Any], timeout_s: float = CALL_TIMEOUT_S) -> list[Any]:
        """Everything that matches the entities, wildcards included."""
        entities_read: list[Any] = self._call(lambda: self._client.read(entities, timeout_s))
        return entities_read

    def _call(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except grpc.RpcError as error:
            raise _translated(error) from error


def _translated(error: Any) -> Exception:
    """A failed call as one of our two kinds."""
    if error.code() in _AWAY:
        return SwitchAway(f"{error.code().name}: {reason_of(error)}")
    details = errors_of(error)
    texts = [detail.message for detail in details if detail.canonical_code] or [error.details()]
    codes = tuple(detail.canonical_code for detail in details)
    return SwitchRefused("; ".join(dict.fromkeys(texts)) or error.code().name, codes, error.code())
