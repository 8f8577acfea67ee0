"""The running program's log_msg messages, copied to the switch's log twice a second, between two batches.

The switch keeps at most 1,024 messages until then; further ones in half a second are dropped and counted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from emulator.native.periodic import PeriodicThread

log = logging.getLogger("program")

POLL_S = 0.5


class MessageSource(Protocol):
    """What this module needs of the switch."""

    @property
    def has_messages(self) -> bool: ...
    def take_messages(self) -> list[str]: ...


class MessageLog:
    """Copies messages in a thread from ``start`` to ``stop``, which writes the remaining ones.

    ``still`` holds the control plane, ``paused`` the data plane.
    """

    def __init__(
        self,
        switch: MessageSource,
        still: Callable[[], AbstractContextManager[Any]],
        paused: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        self._switch = switch
        self._still = still
        self._paused = paused
        self._thread = PeriodicThread(self._write, POLL_S, "netsum-messages")
        log.setLevel(logging.INFO)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._thread.stop()
        self._write()

    def _write(self) -> None:
        if not self._switch.has_messages:
            return
        with self._still(), self._paused():
            messages = self._switch.take_messages()
        for message in messages:
            log.info("%s", message)
