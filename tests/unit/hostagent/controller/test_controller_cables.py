"""Cables between racks' servers that lead nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from hostagent.controller.cables import CableWatch, silent
from hostagent.protocol.services.aggregator import peer_port


def report(incarnation: int = 1, **frames: tuple[int, int]) -> Any:
    """``to_1=(in, out)``: of the port to another rack."""
    ports = {peer_port(int(name.removeprefix("to_"))): counts for name, counts in frames.items()}
    told = [{"port": port, "frames_in": come, "frames_out": sent} for port, (come, sent) in ports.items()]
    return {"ports": told, "incarnation": incarnation}


def new_watch() -> CableWatch:
    """One that has seen both servers before they sent anything."""
    watch = CableWatch([])
    assert not watch.look({0: report(to_1=(0, 0)), 1: report(to_0=(0, 0))})
    return watch


def test_a_cable_by_which_nothing_comes_is_told_once_and_names_both_ends(caplog: pytest.LogCaptureFixture) -> None:
    reports = {0: report(to_1=(30, 9)), 1: report(to_0=(0, 30))}
    assert silent(reports, {(0, 1): 0, (1, 0): 0}) == [(0, 1, 9)]
    watch = new_watch()
    for _ in range(2):
        assert not watch.look(reports)
    (line,) = caplog.messages
    assert "rack 0's server has sent rack 1's 9 frames, and none has come" in line
    assert "--peer 1=... of the first, --peer 0=... of the second" in line


def test_what_may_be_loss_or_has_not_begun_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    watch = new_watch()
    assert not watch.look({0: report(to_1=(0, 0)), 1: report(to_0=(0, 3))})
    assert watch.look({0: report(to_1=(9, 9)), 1: report(to_0=(1, 30))})
    assert not caplog.messages


def test_what_was_sent_to_a_server_that_has_ended_is_not_missed_by_the_next(caplog: pytest.LogCaptureFixture) -> None:
    watch = new_watch()
    again = report(incarnation=2, to_0=(0, 0))
    assert not watch.look({0: report(to_1=(9, 8619)), 1: again})
    assert not watch.look({0: report(to_1=(9, 8622)), 1: again})
    assert not caplog.messages
    assert not watch.look({0: report(to_1=(9, 8630)), 1: again})
    assert "rack 0's server has sent rack 1's 11 frames, and none has come" in caplog.messages[0]
