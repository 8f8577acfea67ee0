"""Cables between racks' servers that lead nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from hostagent.controller.cables import CableWatch, silent
from hostagent.protocol.services.aggregator import peer_port


def report(**frames: tuple[int, int]) -> Any:
    """``to_1=(in, out)``: of the port to another rack."""
    ports = {peer_port(int(name.removeprefix("to_"))): counts for name, counts in frames.items()}
    return {"ports": [{"port": port, "frames_in": come, "frames_out": sent} for port, (come, sent) in ports.items()]}


def test_a_cable_by_which_nothing_comes_is_told_once_and_names_both_ends(caplog: pytest.LogCaptureFixture) -> None:
    reports = {0: report(to_1=(30, 9)), 1: report(to_0=(0, 30))}
    assert silent(reports) == [(0, 1, 9)]
    watch = CableWatch([])
    for _ in range(2):
        assert not watch.look(reports)
    (line,) = caplog.messages
    assert "rack 0's server has sent rack 1's 9 frames, and none has come" in line
    assert "--peer 1=... of the first, --peer 0=... of the second" in line


def test_what_may_be_loss_or_has_not_begun_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    watch = CableWatch([])
    assert not watch.look({0: report(to_1=(0, 0)), 1: report(to_0=(0, 3))})
    assert watch.look({0: report(to_1=(9, 9)), 1: report(to_0=(1, 30))})
    assert not caplog.messages
