"""The stream under a session: connects, reconnects with growing pauses, and gives up after a bound.

One thread owns it and delivers every message in order. What is sent while there is no stream is dropped: after each
connection the session says again whatever still matters (`LinkOwner.opening`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import grpc
import grpc.aio

from hostagent.protocol.services import session_pb2 as pb
from hostagent.protocol.services.reasons import reason_of
from hostagent.protocol.services.sending import sending
from hostagent.protocol.services.session_pb2_grpc import SessionStub

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0
"""Pause between attempts to connect: doubled from the first to the longest."""

CONNECT_TIMEOUT_S = 5.0
"""Time-out of one attempt; a local controller answers in milliseconds, a machine that dropped off the network never."""

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
    """A stream to HOST:PORT that mends itself for `patience_s` after each break.

    The thread runs an event loop: gRPC's blocking iterators look at the clock ten times a second, the loop sleeps.
    """

    def __init__(self, address: str, owner: LinkOwner, patience_s: float):
        self._address = address
        self._owner = owner
        self._patience_s = patience_s
        self._stopping = False
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._outgoing: asyncio.Queue[pb.ClientMessage] | None = None
        self._call: Any = None
        self._pause: asyncio.Future[None] | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="netsum-session", daemon=True)

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
            if self._outgoing is not None and self._loop is not None:
                self._loop.call_soon_threadsafe(self._outgoing.put_nowait, message)

    def stop(self, timeout_s: float) -> None:
        """Ends the stream once the controller has closed it, or at the time-out."""
        self._stopping = True
        if self.on_own_thread:
            return
        self._from_outside(self._end_pause)
        self._thread.join(timeout_s)
        self._from_outside(self._cancel)
        self._thread.join(1.0)

    def _from_outside(self, function: Callable[[], None]) -> None:
        """Runs a function on the thread, if that still runs."""
        with self._lock, contextlib.suppress(RuntimeError):  # the loop may have closed since
            if self._loop is not None:
                self._loop.call_soon_threadsafe(function)

    def _end_pause(self) -> None:
        if self._pause is not None and not self._pause.done():
            self._pause.set_result(None)

    def _cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()

    async def _run(self) -> None:
        """One stream after another, until stopped or out of patience."""
        self._loop = asyncio.get_running_loop()
        try:
            await self._connect_and_serve()
        finally:
            with self._lock:
                self._loop = None

    async def _connect_and_serve(self) -> None:
        pause_s, deadline_s = FIRST_PAUSE_S, time.monotonic() + self._patience_s
        why = "it did not answer"
        while not self._stopping:
            try:
                if await self._one_stream(deadline_s - time.monotonic()):
                    pause_s, deadline_s = FIRST_PAUSE_S, time.monotonic() + self._patience_s
            except grpc.RpcError as error:
                why = _reason(error)
            except TimeoutError:
                why = "nothing answers there"
            if time.monotonic() >= deadline_s:
                away = f"has been unreachable for {self._patience_s:g} s"
                self._owner.lost(f"the controller at {self._address} {away}: {why}")
                return
            self._pause = asyncio.get_running_loop().create_future()
            if not self._stopping:
                await asyncio.wait({self._pause}, timeout=pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _one_stream(self, patience_s: float) -> bool:
        """Serves one stream to its end; True if the controller had said something on it."""
        heard = False
        async with grpc.aio.insecure_channel(self._address, options=CHANNEL_OPTIONS) as channel:
            await asyncio.wait_for(channel.channel_ready(), min(patience_s, CONNECT_TIMEOUT_S))
            outgoing: asyncio.Queue[pb.ClientMessage] = asyncio.Queue()
            with self._lock:
                for message in self._owner.opening():
                    outgoing.put_nowait(message)
                self._outgoing = outgoing
            self._call = SessionStub(channel).Attach()  # type: ignore[no-untyped-call]
            try:
                async with sending(self._call, outgoing):
                    async for message in self._call:
                        heard = True
                        self._deliver(message)
            except asyncio.CancelledError:
                if not self._stopping:
                    raise
            except grpc.RpcError:
                if not heard:
                    raise
            finally:
                with self._lock:
                    self._outgoing = None
                self._call = None
        return heard

    def _deliver(self, message: pb.ServerMessage) -> None:
        """A callback's error is a defect, but must not silence the session."""
        try:
            self._owner.received(message)
        except Exception:
            log.exception("a session callback failed on %s", message.WhichOneof("body"))


def _reason(error: grpc.RpcError) -> str:
    with contextlib.suppress(AttributeError):
        return f"{error.code().name}: {reason_of(error)}"
    return str(error)
