"""The stream under a session: connects, reconnects with growing pauses, and gives up after a bound.

One thread owns it and delivers every message in order. What is sent while there is no stream is dropped: after each
connection the session says again whatever still matters (`LinkOwner.opening`).
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any, Protocol

import grpc

from hostagent.protocol.services import session_pb2 as pb
from hostagent.protocol.services.session_pb2_grpc import SessionStub

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0
"""Between attempts to connect: doubled from the first to the longest."""

CONNECT_TIMEOUT_S = 5.0
"""For one attempt; a local controller answers in milliseconds, a machine that dropped off the network never."""

CHANNEL_OPTIONS = (
    ("grpc.enable_http_proxy", 0),  # a proxy meant for the web must not swallow a local controller
    ("grpc.use_local_subchannel_pool", 1),  # a fresh connection for each attempt, without a pause from the last one
    ("grpc.initial_reconnect_backoff_ms", 100),  # gRPC would wait a second before it looks again
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.keepalive_time_ms", 10_000),  # notices a machine that vanished without closing its connections
    ("grpc.keepalive_timeout_ms", 20_000),
)


log = logging.getLogger("netsum.session")


class LinkOwner(Protocol):
    """What the link calls, always on its own thread."""

    def opening(self) -> list[pb.ClientMessage]:
        """The first messages of a new stream; Hello comes first."""

    def received(self, message: pb.ServerMessage) -> None:
        """A message from the controller."""

    def lost(self, why: str) -> None:
        """No controller within the bound; the link has stopped for good."""


class SessionLink:
    """A stream to HOST:PORT that mends itself for `patience_s` after each break."""

    def __init__(self, address: str, owner: LinkOwner, patience_s: float):
        self._address = address
        self._owner = owner
        self._patience_s = patience_s
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._outgoing: SimpleQueue[pb.ClientMessage | None] | None = None
        self._call: Any = None
        self._thread = threading.Thread(target=self._run, name="netsum-session", daemon=True)

    def start(self) -> None:
        """Begins to connect."""
        self._thread.start()

    @property
    def on_own_thread(self) -> bool:
        """Whether the caller is a callback, which must not wait for answers."""
        return threading.current_thread() is self._thread

    def send(self, message: pb.ClientMessage) -> None:
        """Hands a message to the stream, if there is one."""
        with self._lock:
            if self._outgoing is not None:
                self._outgoing.put(message)

    def stop(self, timeout_s: float) -> None:
        """Ends the stream once the controller has closed it, or at the time-out."""
        self._stopping.set()
        if self.on_own_thread:
            return
        self._thread.join(timeout_s)
        with self._lock:
            if self._call is not None:
                self._call.cancel()
        self._thread.join(1.0)

    def _run(self) -> None:
        """One stream after another, until stopped or out of patience."""
        pause_s, deadline_s = FIRST_PAUSE_S, time.monotonic() + self._patience_s
        why = "it did not answer"
        while not self._stopping.is_set():
            try:
                if self._one_stream(deadline_s - time.monotonic()):
                    pause_s, deadline_s = FIRST_PAUSE_S, time.monotonic() + self._patience_s
            except grpc.RpcError as error:
                why = _reason(error)
            except grpc.FutureTimeoutError:
                why = "nothing answers there"
            if time.monotonic() >= deadline_s:
                self._owner.lost(f"the controller at {self._address} has been away for {self._patience_s:g} s: {why}")
                return
            self._stopping.wait(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _one_stream(self, patience_s: float) -> bool:
        """Serves one stream to its end; True if the controller had said something on it."""
        heard = False
        with grpc.insecure_channel(self._address, options=CHANNEL_OPTIONS) as channel:
            grpc.channel_ready_future(channel).result(timeout=min(patience_s, CONNECT_TIMEOUT_S))
            outgoing: SimpleQueue[pb.ClientMessage | None] = SimpleQueue()
            with self._lock:
                for message in self._owner.opening():
                    outgoing.put(message)
                self._outgoing = outgoing
                self._call = SessionStub(channel).Attach(_until_none(outgoing))  # type: ignore[no-untyped-call]
            try:
                for message in self._call:
                    heard = True
                    self._deliver(message)
            except grpc.RpcError:
                if not heard:
                    raise
            finally:
                with self._lock:
                    self._outgoing = self._call = None
                outgoing.put(None)
        return heard

    def _deliver(self, message: pb.ServerMessage) -> None:
        """A callback's error is a defect, but must not silence the session."""
        try:
            self._owner.received(message)
        except Exception:
            log.exception("a session callback failed on %s", message.WhichOneof("body"))


def _until_none(queue: SimpleQueue[pb.ClientMessage | None]) -> Iterator[pb.ClientMessage]:
    """What gRPC's sending thread reads; None, put in at the stream's end, lets that thread go."""
    while (message := queue.get()) is not None:
        yield message


def _reason(error: grpc.RpcError) -> str:
    with contextlib.suppress(AttributeError):
        return f"{error.code().name}: {error.details()}"
    return str(error)
