"""Listening before the switch is ready, where getting ready takes long: the first time on a machine its loops and the
program are compiled. Scripts that start a switch take a port that listens for the sign that it lives, and give up
after ten seconds; calls that come meanwhile wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from emulator.p4runtime.device import Device
from emulator.p4runtime.server import P4RuntimeServer, ServerError


@dataclass(frozen=True, slots=True)
class Early:
    after_s: float
    when: Callable[[], None]
    """Called then."""


class Listening:
    """A context manager around all that makes the switch ready; `serve` ends the waiting."""

    def __init__(self, address: str, early: Early | None = None) -> None:
        self._address = address
        self._early = early
        self._lock = threading.Lock()
        self._server: P4RuntimeServer | None = None
        self._is_over = False
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Listening:
        if self._early is not None:
            self._timer = threading.Timer(self._early.after_s, self._listen, (self._early,))
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Where the start failed, waiting calls fail with its error."""
        with self._lock:
            self._is_over = True
            if self._server is not None:
                self._server.stop()
        if self._timer is not None:
            self._timer.cancel()

    def _listen(self, early: Early) -> None:
        with self._lock:
            if self._is_over:
                return
            try:
                self._server = P4RuntimeServer(None, self._address)
            except ServerError:
                return  # `serve` will say so
            early.when()

    def serve(self, device: Device, extra_handlers: tuple[Any, ...] = ()) -> P4RuntimeServer:
        """The server, in front of the device from now on. Raises ServerError."""
        with self._lock:
            self._is_over = True
            server, self._server = self._server or P4RuntimeServer(None, self._address), None
        server.serve(device, extra_handlers)
        return server
