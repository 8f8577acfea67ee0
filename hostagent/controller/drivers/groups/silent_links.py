"""Links between rack servers that deliver nothing: named in the log, and in the cause of jobs that fail.

All that a rank sees of such a link is a time-out that blames another rank, which did its part.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from emulator.native.periodic import PeriodicThread
from hostagent.controller.drivers.driver import AggregatorUnavailable
from hostagent.protocol.services.aggregator import peer_port

LOOK_S = 2.5
"""Polling period. A rank retransmits what is not answered at least every second."""
ENOUGH_FRAMES = 5
"""Frames sent of which none has arrived, so that random loss cannot be the cause."""
TIMEOUT_S = 2.0

log = logging.getLogger("netsum.controller")

Report = Mapping[str, Any]
"""Statistics of a `RackServer`: its ports, with the frames that each has received and sent, and its incarnation, which
changes when the server is restarted."""


@dataclass(frozen=True, slots=True)
class Cable:
    """One direction of a link, by the racks' numbers."""

    sender: int
    receiver: int

    def text(self, frames: int) -> str:
        """The fault in words, after so many frames were lost."""
        return (
            f"rack {self.sender}'s server has sent rack {self.receiver}'s {frames} frames, and none has arrived: check "
            f"--peer {self.receiver}=... of rack {self.sender}, --peer {self.sender}=... of rack {self.receiver}, and "
            "the network between them"
        )


@dataclass(slots=True)
class _Seen:
    """What is known of a link since both its servers run and since a frame last arrived by it."""

    lives: tuple[int, int]
    came: int
    sent: int | None = None
    """Frames sent by the first poll after that frame; those before may have arrived. None: no poll yet."""
    lost: int = 0
    """Frames sent since then, up to the latest poll, and not received."""


class CableWatch:
    """Polls the servers' statistics every ``LOOK_S``, as links can fail at any time."""

    def __init__(
        self, read: Sequence[Callable[[float], Mapping[str, Any]]], on_change: Callable[[Mapping[Cable, str]], None]
    ) -> None:
        """``read``: each server's statistics, with a time-out in seconds; may raise AggregatorUnavailable.
        ``on_change``: called from a thread with all links that are silent, when these have changed."""
        self._read, self._on_change = read, on_change
        self._seen: dict[Cable, _Seen] = {}
        self._silent: dict[Cable, str] = {}
        self._thread = PeriodicThread(self._poll, LOOK_S, "cables")

    def start(self) -> None:
        """Begin to poll the servers."""
        self._thread.start()

    def stop(self) -> None:
        """End the polling; a poll in progress may take up to ``TIMEOUT_S`` more."""
        self._thread.stop(TIMEOUT_S)

    def _poll(self) -> None:
        try:
            statistics = [read(TIMEOUT_S) for read in self._read]
        except AggregatorUnavailable:
            return
        self.look({int(each["core"]["rack"]): _report(each) for each in statistics})

    def look(self, reports: Mapping[int, Report]) -> None:
        """Report what has changed; ``reports`` are by rack."""
        silent = {}
        for cable in (Cable(*ends) for ends in permutations(reports, 2)):
            lost = self._lost(cable, reports)
            if lost >= ENOUGH_FRAMES:
                silent[cable] = self._silent.get(cable) or cable.text(lost)
        for cable in silent.keys() - self._silent.keys():
            log.error("%s", silent[cable])
        if silent != self._silent:
            self._silent = silent
            self._on_change(silent)

    def _lost(self, cable: Cable, reports: Mapping[int, Report]) -> int:
        """Frames that were sent before the last poll and have not arrived by this one."""
        sender, receiver = reports[cable.sender], reports[cable.receiver]
        lives = (int(sender["incarnation"]), int(receiver["incarnation"]))
        sent = _frames(sender, peer_port(cable.receiver), "frames_out")
        came = _frames(receiver, peer_port(cable.sender), "frames_in")
        seen = self._seen.get(cable)
        if seen is None or (seen.lives, seen.came) != (lives, came):
            self._seen[cable] = _Seen(lives, came)
            return 0
        lost = seen.lost
        if seen.sent is None:
            seen.sent = sent
        seen.lost = sent - seen.sent
        return lost


def _frames(report: Report, port: int, name: str) -> int:
    return next((int(statistics[name]) for statistics in report["ports"] if statistics["port"] == port), 0)


def _report(statistics: Mapping[str, Any]) -> Report:
    return {**statistics["report"], "incarnation": statistics["incarnation"]}
