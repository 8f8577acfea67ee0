"""``pytest --target bmv2``: the driver, on stand-ins for p4c and simple_switch_grpc, which no registry has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.harness.bmv2.process import find_executable
from tests.labs.bmv2_stand_in import install
from tests.labs.one_namespace import one_namespace

pytestmark = pytest.mark.root
ROOT = Path(__file__).resolve().parents[2]
TEST = """
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

def packet(ttl, src="02:00:00:00:00:01", dst="02:00:00:00:00:02"):
    return Ether(src=src, dst=dst) / IP(src="192.0.2.1", dst="10.1.2.3", ttl=ttl) / UDP()

def test_a_route(p4_switch):
    switch = p4_switch("router.p4")
    route = switch.table("routes").add({"destination": "10.0.0.0/8"}, "set_nhop", port=2, dmac="02:00:00:00:00:99")
    switch.table("source_macs").add({"port": 2}, "set_source", smac="02:00:00:00:00:88")
    switch.send(1, packet(64))
    switch.expect(2, packet(63, "02:00:00:00:00:88", "02:00:00:00:00:99"))
    switch.send(1, packet(64))
    switch.expect(2, packet(9, "02:00:00:00:00:88"), ignore=["hdr.ipv4.ttl", "hdr.ipv4.header_checksum",
                                                             "hdr.ethernet.destination"])
    switch.expect_no_other()
    assert route.packets == 2
    assert switch.counter("sent")[2].packets == 2
    route.delete()
    switch.send(1, packet(64))
    switch.expect_no_other()

def test_what_is_refused(p4_switch):
    switch = p4_switch("router.p4")
    entry = switch.table("routes").add({"destination": "10.0.0.0/8"}, "set_nhop", port=2, dmac=1)
    switch.table("routes").add({"destination": "10.0.0.0/8"}, "set_nhop", port=2, dmac=1)

def test_what_bmv2_lacks(p4_switch):
    switch = p4_switch("router.p4")
    with pytest.raises(Exception, match="on this target a test has the ports 0 .. 7, not 9"):
        switch.expect(9, "00")
    switch.messages()

def test_what_bmv2s_p4runtime_lacks(p4_switch):
    p4_switch("router.p4").clone_session(5, 2, truncate=64)
"""


def run(folder: Path, path: str, namespace: str | None) -> str:
    (folder / "test_it.py").write_text(TEST)
    words = [sys.executable, "-m", "pytest", "-q", "-n0", "-rs", "--rootdir", str(folder), "-p", "no:cacheprovider"]
    inside = ["ip", "netns", "exec", namespace] if namespace else []
    done = subprocess.run(
        [*inside, *words, "--target", "bmv2", "test_it.py"],
        cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=110,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_the_same_test_runs_on_a_switch_process(tmp_path: Path) -> None:
    install(tmp_path)
    with one_namespace("bmv2") as namespace:
        text = run(tmp_path, f"{tmp_path}:{os.environ['PATH']}", namespace)
    assert "1 failed, 1 passed, 2 skipped" in text, text
    assert "clone sessions that truncate packets are for our own switch" in text
    assert "table RouterIngress.routes: an entry with this match exists" in text
    assert "log messages are for our own switch" in text


def test_our_own_simple_switch_grpc_is_not_taken_for_bmv2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Path(sys.executable).with_name("simple_switch_grpc")
    monkeypatch.setenv("PATH", str(ours.parent))
    assert find_executable("simple_switch_grpc") is None
    install(tmp_path)
    monkeypatch.setenv("PATH", f"{ours.parent}:{tmp_path}")
    assert find_executable("simple_switch_grpc") == str(tmp_path / "simple_switch_grpc")


def test_without_bmv2_tests_are_skipped_with_the_reason(tmp_path: Path) -> None:
    text = run(tmp_path, "/usr/bin:/bin:/usr/sbin:/sbin", None)
    assert "4 skipped" in text
    assert "simple_switch_grpc is not on the PATH" in text
