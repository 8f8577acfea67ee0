"""The live loop around a core in Python: the turns of ``turns``, with ``process`` called between their halves.

Gathering, sending and sleeping are compiled and don't hold the GIL, so a core that is called with whole batches costs a
few microseconds a turn beside its own work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Protocol

from emulator.ports.batch import FrameBatch
from emulator.ports.cable.bell import Bell
from emulator.ports.host import SPIN_NS
from emulator.ports.loop.runner import SwitchRunner
from emulator.ports.loop.turns import advance, gather, hand_on, idle, timer_due
from emulator.ports.port import SwitchPort


class BatchCore(Protocol):
    """What the loop needs of a core."""

    def process(self, batch: FrameBatch, now_ns: int) -> int | None:
        """Take all frames of the batch, which is empty where only a timer is due; returns when to be called at the
        latest though nothing comes in, or None."""


class _NoProgram:
    """What the compiled loop would call: nothing."""

    program_address = context_address = 0


class BatchRunner(SwitchRunner):
    """See `SwitchRunner`; what ``process`` raises ends the loop."""

    def __init__(
        self,
        core: BatchCore,
        ports: Sequence[SwitchPort],
        bell: Bell,
        *,
        lock: threading.Lock | None = None,
        spin_ns: int = SPIN_NS,
    ) -> None:
        self._core = core
        super().__init__(_NoProgram(), ports, bell, lock=lock, spin_ns=spin_ns)

    def _warm_up(self) -> None:
        """Load the machine code of one turn without ports."""
        record, address = self._record[0], self._address
        record["attention"], record["port_count"] = 1, 0
        gather(address, 0)
        timer_due(address, 0)
        hand_on(address, 0)
        advance(address) if self._virtual else idle(address)
        record["attention"], record["port_count"], record["finished"], record["now_ns"] = 0, len(self.ports), 0, 0

    def _has_program(self) -> bool:
        return True

    def _run_slice(self) -> None:
        record, address = self._record[0], self._address
        while not record["attention"]:
            now_ns = int(record["now_ns"]) if self._virtual else time.monotonic_ns()
            moved = gather(address, now_ns)
            if self._batch.count or timer_due(address, now_ns):
                timer_ns = self._core.process(self._batch, now_ns)
                record["timer_ns"] = -1 if timer_ns is None else timer_ns
                record["frames"] += self._batch.count
            if moved + hand_on(address, now_ns):
                continue
            if advance(address) if self._virtual else idle(address):
                return
