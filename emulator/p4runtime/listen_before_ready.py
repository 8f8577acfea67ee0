"""Listening before the switch is ready; calls block until it is.

Without a program a switch listens at once, before its other modules are imported: whoever connects has to load a
program first, and that call waits. With a program a port that listens means a switch that forwards, so it listens when
it is ready, or after some seconds where the start takes long: the first start on a machine compiles the loops and the
program, and scripts that start a switch wait for its port for ten seconds at most.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emulator.p4runtime.server import P4RuntimeServer, ServerError, check_address
from emulator.rpc.tls import ServerTls

if TYPE_CHECKING:
    from emulator.p4runtime.device import Device


@dataclass(frozen=True, slots=True)
class EarlyListening:
    """Listen after ``after_s`` seconds; 0: at once."""

    after_s: float
    on_listening: Callable[[str], object] = bool
    """Called with the address when the port listens."""


class Listening:
    """A context manager around the start of the switch; the time to listen counts from its creation. `serve` releases
    the blocked calls."""

    def __init__(self, address: str, early: EarlyListening | None = None, tls: ServerTls | None = None) -> None:
        self._address = address
        self._tls = tls
        self._lock = threading.Lock()
        self._server: P4RuntimeServer | None = None
        self._is_over = False
        self._timer: threading.Timer | None = None
        if early is not None and early.after_s == 0:
            self._listen(early)
        elif early is not None:
            self._timer = threading.Timer(early.after_s, self._listen, (early,))
            self._timer.daemon = True
            self._timer.start()

    def check(self) -> None:
        """Raises ServerError at once, before anything is compiled, where the address cannot be listened on."""
        with self._lock:
            if self._server is None:
                check_address(self._address)

    def __enter__(self) -> Listening:
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
            early.on_listening(self._server.address)

    def _make_server(self) -> P4RuntimeServer:
        return P4RuntimeServer(None, self._address, tls=self._tls)

    def serve(self, device: Device, extra_handlers: tuple[Any, ...] = ()) -> P4RuntimeServer:
        """The server, in front of the device from now on. Raises ServerError."""
        with self._lock:
            self._is_over = True
            server, self._server = self._server or self._make_server(), None
        server.serve(device, extra_handlers)
        return server
