"""Listening before the switch is ready, for starts that take long: the first start on a machine compiles the loops and
the program. Scripts that start a switch wait for its port to listen, for ten seconds at most; calls block until the
switch is ready.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from emulator.native.tls import ServerTls
from emulator.p4runtime.device import Device
from emulator.p4runtime.server import P4RuntimeServer, ServerError


@dataclass(frozen=True, slots=True)
class EarlyListening:
    """Listen after ``after_s`` seconds."""

    after_s: float
    on_listening: Callable[[], None]
    """Called when the port listens."""


class Listening:
    """A context manager around the start of the switch; `serve` releases the blocked calls."""

    def __init__(self, address: str, early: EarlyListening | None = None, tls: ServerTls | None = None) -> None:
        self._address = address
        self._tls = tls
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
        """If the start failed, blocked calls fail."""
        with self._lock:
            self._is_over = True
            if self._server is not None:
                self._server.stop()
        if self._timer is not None:
            self._timer.cancel()

    def _listen(self, early: EarlyListening) -> None:
        with self._lock:
            if self._is_over:
                return
            try:
                self._server = self._make_server()
            except ServerError:
                return  # `serve` raises it
            early.on_listening()

    def _make_server(self) -> P4RuntimeServer:
        return P4RuntimeServer(None, self._address, tls=self._tls)

    def serve(self, device: Device, extra_handlers: tuple[Any, ...] = ()) -> P4RuntimeServer:
        """The server, in front of the device from now on. Raises ServerError."""
        with self._lock:
            self._is_over = True
            server, self._server = self._server or self._make_server(), None
        server.serve(device, extra_handlers)
        return server
