"""How many answers wait in a running server's ports: looked at every so often, for the deepest are gone at the end."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from emulator.ports.port import SwitchPort
from hostagent.rackserver.tenants.report import queued_in

LOOK_S = 0.05


class QueueWatch:
    """Looks at ports from the beginning to `stop`, without disturbing the loop."""

    def __init__(self, ports: Sequence[SwitchPort]) -> None:
        self._ports = ports
        self.deepest: dict[int, int] = {port.number: 0 for port in ports}
        """By port."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="queues", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Before the ports are closed."""
        self._stopping.set()
        self._thread.join()

    def look(self) -> None:
        """Once."""
        for port in self._ports:
            self.deepest[port.number] = max(self.deepest[port.number], queued_in(port))

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_S):
            self.look()
