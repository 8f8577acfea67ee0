"""The forwarding benchmark: its processes do what they say, nothing stays behind, and without root it says so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from emulator.ports.batch import FrameBatch
from emulator.ports.port import make_private_ring
from emulator.switch.core import Switch
from hostagent.cli.bench import forward, veth
from hostagent.cli.bench.runner import print_report
from hostagent.cli.bench.traffic import FRAMES, contributions, load_switch, routed_frames
from hostagent.protocol.frames import parse_frame
from tests.labs.namespaces import veth_pairs
from tests.programs.p4_programs import drain


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_short_run(capsys: pytest.CaptureFixture[str]) -> None:
    with veth_pairs():
        pass
    report = forward.measure(seconds=0.05, rounds=1)
    assert [row.details["frame_bytes"] for row in report.rows] == [98, 322]
    for row in report.rows:
        switch, limit = row.details["switch"], row.details["limit"]
        assert limit["kpps"] > 0
        assert switch["kpps"] > 0
        assert switch["cpu_ns"] > 0
        assert switch["uncounted"] == 0, "every frame came through or was dropped for a reason"
        assert row.ratio == pytest.approx(switch["kpps"] / limit["kpps"])
    print_report(report)
    shown = capsys.readouterr().out
    assert "bmv2" in shown
    assert "0 not counted" in shown
    assert f"netsum-{os.getpid()}-" not in veth.ip("netns", "list")


@pytest.mark.root
def test_namespaces_are_removed_also_after_failures_and_those_of_the_dead() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    left_behind = f"netsum-{done.pid}-hosts"
    with veth_pairs() as network:
        veth.ip("netns", "add", left_behind)
        assert network.hosts in veth.ip("netns", "list")
    with pytest.raises(AssertionError, match="in the middle"), veth_pairs():
        assert left_behind in veth.ip("netns", "list"), "in the middle"
    assert network.hosts not in veth.ip("netns", "list")


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/sbin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(veth.NoNamespaces, match="need root: run it again with sudo"):
        veth.VethPairs().__enter__()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(veth.NoNamespaces, match="install iproute2"):
        veth.VethPairs().__enter__()


def run(switch: Switch, frames: list[tuple[int, bytes]]) -> dict[int, list[bytes]]:
    """What leaves ports 1 and 2 when the frames come in at theirs."""
    kept = [make_private_ring(switch.ports.rings[port], 256) for port in (1, 2)]
    batch = FrameBatch(len(frames))
    for port, content in frames:
        batch.append(content, port)
    switch.process(batch, 0)
    sent = drain(switch.ports)
    assert kept
    return sent


def test_routed_frames_are_routed_to_the_second_port() -> None:
    switch = load_switch("router", 64)
    frames = routed_frames(98)
    assert frames.shape == (FRAMES, 98)
    assert len({bytes(frame[30:34]) for frame in frames}) > FRAMES // 2
    sent = run(switch, [(1, bytes(frame)) for frame in frames[:100]])
    assert {port: len(found) for port, found in sent.items()} == {2: 100}


def test_contributions_are_summed() -> None:
    switch = load_switch("allreduce", 64)
    left, right = (bytes(frames[0]) for frames in contributions(64))
    sent = run(switch, [(1, left), (2, right)])
    wanted = parse_frame(left).lanes + parse_frame(right).lanes
    for port in (1, 2):
        (result,) = sent[port]
        assert (parse_frame(result).lanes == wanted).all()
