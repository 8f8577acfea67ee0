"""An aggregator inside another: frames in as bytes, answers out as bytes, no cable between."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from emulator.ports.batch import FrameBatch, TxPortTable, frame_at, tx_frame, tx_length
from emulator.ports.port import make_private_ring
from emulator.ports.sockets.mmsg import rewind_ring
from hostagent.protocol.services.aggregator import Aggregator

MakeCore = Callable[[TxPortTable], Aggregator]

CELLS = 1024
BATCH_FRAMES = 256
"""Frames given at a time: each is answered by one frame a port at most, so that the cells suffice."""


class Inside:
    """One core and its ports, all of which are memory."""

    def __init__(self, make_core: MakeCore) -> None:
        self._table = TxPortTable()
        self.core = make_core(self._table)
        self._kept: dict[int, list[object]] = {}
        self._taken: dict[int, int] = {}
        self._batch = FrameBatch(BATCH_FRAMES)

    def provide(self, port: int) -> None:
        """Let the core answer by this port."""
        if port not in self._kept:
            self._kept[port] = make_private_ring(self._table.rings[port], CELLS)
            self._taken[port] = 0

    def process(self, frames: Iterable[tuple[int, bytes]], now_ns: int) -> tuple[list[tuple[int, bytes]], int | None]:
        """(port, frame) in; answers out port by port, and when the core wants to be called again."""
        answers: list[tuple[int, bytes]] = []
        for port, frame in frames:
            if self._batch.count == BATCH_FRAMES:
                self._run(answers, now_ns)
            self._batch.append(frame, port)
        return answers, self._run(answers, now_ns)

    def _run(self, answers: list[tuple[int, bytes]], now_ns: int) -> int | None:
        due_ns = self.core.process(self._batch, now_ns)
        self._batch.clear()
        tails = self._table.rings["tail"]
        for port, first in self._taken.items():
            if tails[port] == first:
                continue
            ring = self._table.ring_address(port)
            for index in range(first, int(tails[port])):
                answers.append((port, frame_at(tx_frame(ring, index), tx_length(ring, index))))
            rewind_ring(ring)
            self._taken[port] = int(tails[port])
        return due_ns
