"""Cables between racks' servers that lead nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from hostagent.controller.drivers.groups.silent_links import Cable, CableWatch
from hostagent.protocol.services.aggregator import peer_port


def report(incarnation: int = 1, **frames: tuple[int, int]) -> Any:
    """``to_1=(in, out)``: of the port to another rack."""
    ports = {peer_port(int(name.removeprefix("to_"))): counts for name, counts in frames.items()}
    told = [{"port": port, "frames_in": come, "frames_out": sent} for port, (come, sent) in ports.items()]
    return {"ports": told, "incarnation": incarnation}


class Watched:
    """A watch, and what it tells."""

    def __init__(self) -> None:
        self.told: list[dict[Cable, str]] = []
        self.watch = CableWatch([], lambda silent: self.told.append(dict(silent)))

    def look(self, one: Any, other: Any) -> None:
        self.watch.look({0: one, 1: other})


def test_a_cable_by_which_nothing_comes_is_told_once_and_names_both_ends(caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched()
    for sent in (0, 0, 9, 12, 15):  # seen; counted from; sent; looked for, twice
        watched.look(report(to_1=(sent, sent)), report(to_0=(0, sent)))
    (line,) = caplog.messages
    assert "rack 0's server has sent rack 1's 9 frames, and none has arrived" in line
    assert "--peer 1=... of rack 0, --peer 0=... of rack 1" in line
    assert watched.told == [{Cable(0, 1): line}]


def test_what_may_be_loss_or_on_its_way_or_has_not_begun_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched()
    for sent, come in ((0, 0), (0, 0), (0, 0), (3, 0), (4, 0), (900, 0), (900, 1), (900, 1), (904, 1), (904, 1)):
        watched.look(report(to_1=(0, sent)), report(to_0=(come, 0)))
    assert not caplog.messages
    assert not watched.told


def test_a_cable_that_ends_later_is_told_and_so_is_that_frames_come_again(caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched()
    for sent, come in ((50, 45), (55, 45), (70, 45), (80, 45), (80, 46)):
        watched.look(report(to_1=(0, sent)), report(to_0=(come, 0)))
    assert [list(told) for told in watched.told] == [[Cable(0, 1)], []]
    assert "rack 0's server has sent rack 1's 15 frames, and none has arrived" in caplog.messages[0]


def test_frames_to_an_ended_server_are_not_missed_by_the_next() -> None:
    watched = Watched()
    watched.look(report(to_1=(9, 9)), report(to_0=(9, 9)))
    for sent in (8619, 8619, 8622, 8622):
        watched.look(report(to_1=(9, sent)), report(incarnation=2, to_0=(0, 0)))
    assert not watched.told
    for sent in (8630, 8632):
        watched.look(report(to_1=(9, sent)), report(incarnation=2, to_0=(0, 0)))
    assert "rack 0's server has sent rack 1's 11 frames" in watched.told[0][Cable(0, 1)]
