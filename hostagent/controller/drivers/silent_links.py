"""Links between rack servers that deliver nothing: named in the log, and in the cause of jobs that fail.

For a rank such a cable is a time-out, and another rank, which did its part, is missing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from hostagent.controller.drivers.driver import AggregatorUnavailable
from hostagent.protocol.services.aggregator import peer_port

LOOK_S = 2.5
"""Between two looks. A rank repeats what is not answered every second at least."""
ENOUGH_FRAMES = 5
"""Sent, and none of them has come: not loss any more."""
TIMEOUT_S = 2.0

log = logging.getLogger("netsum.controller")

Report = Mapping[str, Any]
"""A server's, see `RackServer`'s statistics: its ports, with the frames that each has had and sent; and its
incarnation, another one where the server was started again."""


@dataclass(frozen=True, slots=True)
class Cable:
    """One direction of one, by the racks' numbers."""

    sender: int
    receiver: int

    def text(self, frames: int) -> str:
        """The fault of a link, from the frames sent and lost; None: no fault."""
        return (
            f"rack {self.sender}'s server has sent rack {self.receiver}'s {frames} frames, and none has come: look at "
            f"--peer {self.receiver}=... of rack {self.sender}, --peer {self.sender}=... of rack {self.receiver}, and "
            "at what is between them"
        )


@dataclass(slots=True)
class _Seen:
    """What was seen of a cable since both its servers live and since a frame last came by it."""

    lives: tuple[int, int]
    came: int
    sent: int | None = None
    """At the first look after that one: what was sent before may have come. None: there was none yet."""
    lost: int = 0
    """Frames sent since then and before the latest look, and not received."""


class CableWatch:
    """Looks every so often, as cables can fail at any time."""

    def __init__(
        self, read: Sequence[Callable[[float], Mapping[str, Any]]], on_change: Callable[[Mapping[Cable, str]], None]
    ) -> None:
        """``read``: each server's statistics, with a time-out in seconds; may raise AggregatorUnavailable.
        ``on_change``: called
        from a thread with all that is wrong, when that has changed."""
        self._read, self._on_change = read, on_change
        self._seen: dict[Cable, _Seen] = {}
        self._silent: dict[Cable, str] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cables", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """No longer look."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(TIMEOUT_S)

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_S):
            try:
                statistics = [read(TIMEOUT_S) for read in self._read]
            except AggregatorUnavailable:
                continue
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
        """Frames that were sent before the last look, and have not come by this one."""
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
