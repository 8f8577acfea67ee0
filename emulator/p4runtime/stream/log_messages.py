"""What the running program says with log_msg, on the switch's log: read off twice a second, between two batches.

The switch keeps at most 1,024 messages until then; a program that says more in half a second loses the rest, counted.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

log = logging.getLogger("program")

EVERY_S = 0.5


class Speaker(Protocol):
    """The switch, as far as this is concerned."""

    @property
    def has_messages(self) -> bool: ...
    def take_messages(self) -> list[str]: ...


class MessageLog:
    """A thread from ``start`` to ``stop``, which writes what remains at the end.

    ``still`` keeps the control plane away from the switch, ``paused`` the data plane.
    """

    def __init__(
        self,
        switch: Speaker,
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
        while not self._stopping.wait(EVERY_S):
            self._write()
        self._write()

    def _write(self) -> None:
        if not self._switch.has_messages:
            return
        with self._still(), self._paused():
            messages = self._switch.take_messages()
        for message in messages:
            log.info("%s", message)
