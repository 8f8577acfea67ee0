"""The thread that has digests and idle time-outs sent; it sleeps where neither is configured."""

from __future__ import annotations

import logging
import threading
from typing import Protocol

EVERY_S = 0.005
"""How late a digest or notification may be."""

log = logging.getLogger(__name__)


class Announcing(Protocol):
    """The device, as far as this is concerned."""

    has_announcements: threading.Event

    def announce(self) -> None: ...


class Announcer:
    def __init__(self, device: Announcing) -> None:
        self._device = device
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="netsum-announcer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._device.has_announcements.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _serve(self) -> None:
        while not self._stopping.is_set():
            self._device.has_announcements.wait()
            try:
                self._device.announce()
            except Exception:  # a defect of ours must not silence the switch for good
                log.exception("digests and idle time-outs could not be looked for")
            self._stopping.wait(EVERY_S)
