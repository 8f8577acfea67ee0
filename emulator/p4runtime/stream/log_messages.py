"""The running program's log_msg messages, copied to the switch's log twice a second, between two batches.

The switch keeps at most 1,024 messages until then; further ones in half a second are dropped and counted.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

log = logging.getLogger("program")

POLL_S = 0.5


class MessageSource(Protocol):
    """What this module needs of the switch."""

    @property
    def has_messages(self) -> bool: ...
    def take_messages(self) -> list[str]: ...


class MessageLog:
    """A thread from ``start`` to ``stop``, which writes the remaining messages at the end.

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
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="netsum-messages", daemon=True)
        log.setLevel(logging.INFO)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _serve(self) -> None:
        while not self._stopping.wait(POLL_S):
            self._write()
        self._write()

    def _write(self) -> None:
        if not self._switch.has_messages:
            return
        with self._still(), self._paused():
            messages = self._switch.take_messages()
        for message in messages:
            log.info("%s", message)
