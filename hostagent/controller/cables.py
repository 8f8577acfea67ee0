"""Cables between racks' servers by which nothing arrives: told in the controller's log; ranks only see a time-out."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from hostagent.controller.aggregator_driver import read_statistics
from hostagent.controller.driver import AggregatorUnavailable
from hostagent.protocol.services.aggregator import peer_port

LOOK_S = 5.0
"""Between two looks. A rank repeats what is not answered every second at least."""
ENOUGH_FRAMES = 5
"""Sent, and none of them has come: not loss any more."""
TIMEOUT_S = 2.0

log = logging.getLogger("netsum.controller")

Report = Mapping[str, Any]
"""A server's, see `RackServer`'s statistics: its ports, with the frames that each has had and sent; and its
incarnation, another one where the server was started again."""
Cable = tuple[int, int]
"""From one rack to another."""


def silent(reports: Mapping[int, Report], before: Mapping[Cable, int]) -> list[tuple[int, int, int]]:
    """(sender, receiver, frames sent) of cables by which no frame has come; ``reports`` are by rack. ``before``: frames
    that are not counted, as the receiver may not have lived then."""
    found = []
    for sender, receiver in permutations(reports, 2):
        sent = _frames(reports[sender], peer_port(receiver), "frames_out") - before[sender, receiver]
        if sent >= ENOUGH_FRAMES and not _frames(reports[receiver], peer_port(sender), "frames_in"):
            found.append((sender, receiver, sent))
    return found


def _frames(report: Report, port: int, name: str) -> int:
    return next((int(told[name]) for told in report["ports"] if told["port"] == port), 0)


def _report(told: Mapping[str, Any]) -> Report:
    return {**told["report"], "incarnation": told["incarnation"]}


class CableWatch:
    """Looks until every cable has carried a frame; tells of each that does not once."""

    def __init__(self, addresses: Sequence[str]) -> None:
        """``addresses``: of the servers."""
        self._addresses = addresses
        self._told: set[Cable] = set()
        self._lives: dict[Cable, tuple[int, int]] = {}
        self._before: dict[Cable, int] = {}
        """Frames sent when both ends were first seen in the lives that they have now."""
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
                told = [read_statistics(address, TIMEOUT_S) for address in self._addresses]
            except AggregatorUnavailable:
                continue
            if self.look({int(each["core"]["rack"]): _report(each) for each in told}):
                return

    def look(self, reports: Mapping[int, Report]) -> bool:
        """Tell what is new; whether every cable has carried a frame."""
        for of, to in permutations(reports, 2):
            lives = (int(reports[of]["incarnation"]), int(reports[to]["incarnation"]))
            if self._lives.get((of, to)) != lives:
                self._lives[of, to] = lives
                self._before[of, to] = _frames(reports[of], peer_port(to), "frames_out")
        for sender, receiver, sent in silent(reports, self._before):
            if (sender, receiver) not in self._told:
                self._told.add((sender, receiver))
                log.error(
                    "rack %d's server has sent rack %d's %d frames, and none has come: look at --peer %d=... of the "
                    "first, --peer %d=... of the second, and at what is between them",
                    *(sender, receiver, sent, receiver, sender),
                )
        return all(_frames(reports[to], peer_port(of), "frames_in") for of, to in permutations(reports, 2))
