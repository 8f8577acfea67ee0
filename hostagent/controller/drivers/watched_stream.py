"""A gRPC stream that is watched for its end, so that the loss of an aggregator is detected at once.

It runs on an event loop because gRPC's blocking iterators wake up ten times a second. The loop is that of the driver's
starter: gRPC may report events of one loop on another, which must not be closed then.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import grpc
import grpc.aio

from hostagent.protocol.services.sending import sending

CLOSE_TIMEOUT_S = 5.0


def loop_here() -> asyncio.AbstractEventLoop:
    """The caller's event loop, or where none runs one in the background, the same for all."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return _background_loop()


@functools.cache
def _background_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="netsum-streams", daemon=True).start()
    return loop


class WatchedStream:
    """Open from its creation until `close`; `received` and `ended` are called on the loop's thread.

    `call` makes the call on a channel. `ended` is called unless `close` was; with the error, if it ended by one.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        address: str,
        options: Sequence[tuple[str, int]],
        call: Callable[[grpc.aio.Channel], Any],
        received: Callable[[Any], None],
        ended: Callable[[grpc.RpcError | None], None],
        credentials: Any = None,
    ):
        self._loop, self._address, self._options, self._credentials = loop, address, options, credentials
        self._call, self._received, self._ended = call, received, ended
        self._outgoing: asyncio.Queue[Any] = asyncio.Queue()
        self._closing = asyncio.Event()
        self._served = asyncio.run_coroutine_threadsafe(self._serve(), loop)

    def send(self, message: Any) -> None:
        """Send, from any thread; dropped where the stream has ended."""
        self._loop.call_soon_threadsafe(self._outgoing.put_nowait, message)

    def close(self) -> None:
        """Ends the stream and waits for that; from any thread but the loop's."""
        self._loop.call_soon_threadsafe(self._closing.set)
        self._served.result(CLOSE_TIMEOUT_S)

    def _open_channel(self) -> grpc.aio.Channel:
        if self._credentials is None:
            return grpc.aio.insecure_channel(self._address, options=self._options)
        return grpc.aio.secure_channel(self._address, self._credentials, options=self._options)

    async def _serve(self) -> None:
        async with self._open_channel() as channel:
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
