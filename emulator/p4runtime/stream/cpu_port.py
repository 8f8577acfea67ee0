"""The CPU port (packet-in, packet-out): a cable with its other end in this process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from emulator.ports.batch import FrameBatch, TxPortTable
from emulator.ports.cable.bell import Bell
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.spec import parse_port

WAKE_NS = 1_000_000_000
"""The longest the thread sleeps: a wake-up that comes before it sleeps costs no more than this."""

log = logging.getLogger("netsum.switch")


class CpuPort:
    """``port`` is the switch's end, for the live loop; ``on_frame`` takes each frame sent to it, by a thread."""

    def __init__(self, number: int, table: TxPortTable, bell: Bell, on_frame: Callable[[bytes], bool]) -> None:
        self.port = MemoryPort(parse_port(f"{number}=memory:controllers"), table, bell)
        self.too_short = 0
        """Frames shorter than the packet_in header."""
        self._on_frame = on_frame
        self._lock = threading.Lock()
        """Lock of the host's end of the cable, which is made for one thread."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="netsum-cpu-port", daemon=True)

    def send(self, frame: bytes) -> bool:
        """Into the switch, from any thread; False where there is no room. Raises PortError for too long a frame."""
        with self._lock:
            return self.port.send([frame]) == 1

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """The port itself stays open."""
        self._stopping.set()
        self.port.host.wake()
        if self._thread.ident is not None:
            self._thread.join()

    def _serve(self) -> None:
        host, batch = self.port.host, FrameBatch()
        while not self._stopping.is_set():
            host.wait(WAKE_NS, 0)
            batch.clear()
            with self._lock:
                host.receive_into(batch)
                frames = [frame for _, frame in batch.frames()]
                host.release()
                host.flush()
            for frame in frames:
                self._hand_on(frame)

    def _hand_on(self, frame: bytes) -> None:
        try:
            self.too_short += not self._on_frame(frame)
        except Exception:  # a defect of ours must not end packets to the controller for good
            log.exception("a packet to the controller is lost")
