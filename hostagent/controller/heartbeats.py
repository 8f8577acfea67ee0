"""Receives the ranks' heartbeat datagrams. Anything else that arrives there is ignored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from hostagent.transport.session.terms import HEARTBEAT, HEARTBEAT_MAGIC


class HeartbeatReceiver(asyncio.DatagramProtocol):
    """Calls `heard(token)` for each one."""

    def __init__(self, heard: Callable[[int], None]):
        self._heard = heard

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        """A datagram from anyone."""
        if len(data) == HEARTBEAT.size:
            magic, token, _counter = HEARTBEAT.unpack(data)
            if magic == HEARTBEAT_MAGIC:
                self._heard(token)
