"""A gRPC stream that is there to be watched: its end is how a dead aggregator is noticed at once.

The thread runs an event loop: gRPC's blocking iterators look at the clock ten times a second, the loop sleeps.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import grpc
import grpc.aio

from hostagent.protocol.services.sending import sending


class HeldStream:
    """Open from its creation until `close`; `received` and `ended` are called on its own thread.

    `call` makes the call on a channel. `ended` is called unless `close` was; with the error, if it ended by one.
    """

    def __init__(
        self,
        address: str,
        options: Sequence[tuple[str, int]],
        call: Callable[[grpc.aio.Channel], Any],
        received: Callable[[Any], None],
        ended: Callable[[grpc.RpcError | None], None],
    ):
        self._address, self._options = address, options
        self._call, self._received, self._ended = call, received, ended
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop = self._runner.get_loop()
        self._outgoing: asyncio.Queue[Any] = asyncio.Queue()
        self._closing: asyncio.Event = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="netsum-stream", daemon=True)
        self._thread.start()

    def send(self, message: Any) -> None:
        """From any thread; dropped where the stream has ended."""
        self._on_loop(self._outgoing.put_nowait, message)

    def close(self) -> None:
        """Ends the stream and waits for that; not from the callbacks."""
        self._on_loop(self._closing.set)
        self._thread.join()

    def _on_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: so is the stream
            self._loop.call_soon_threadsafe(function, *arguments)

    def _run(self) -> None:
        with self._runner as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with grpc.aio.insecure_channel(self._address, options=self._options) as channel:
            reading = asyncio.create_task(self._read(self._call(channel)))
            closing = asyncio.create_task(self._closing.wait())
            await asyncio.wait({reading, closing}, return_when=asyncio.FIRST_COMPLETED)
            if not self._closing.is_set():
                self._ended(reading.result())
            reading.cancel()
            closing.cancel()
            await asyncio.wait({reading, closing})

    async def _read(self, call: Any) -> grpc.RpcError | None:
        try:
            async with sending(call, self._outgoing):
                async for message in call:
                    self._received(message)
        except grpc.RpcError as error:
            return error
        return None
