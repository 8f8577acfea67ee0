"""Sending on a stream of gRPC's asyncio kind.

Given an iterator of requests, gRPC abandons it where it waits when the stream ends, and asyncio complains of that on
the user's terminal. Here the task that sends is the caller's, who ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import grpc


@contextlib.asynccontextmanager
async def sending(call: Any, outgoing: asyncio.Queue[Any]) -> AsyncIterator[None]:
    """While within, what is put into the queue is sent on the call; what comes after the call's end is dropped."""
    task = asyncio.create_task(_send_all(call, outgoing))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _send_all(call: Any, outgoing: asyncio.Queue[Any]) -> None:
    with contextlib.suppress(grpc.RpcError, asyncio.InvalidStateError):  # the reader hears why it ended
        while True:
            await call.write(await outgoing.get())
