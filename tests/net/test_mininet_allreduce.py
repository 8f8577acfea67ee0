"""The experiment on stars of hosts: real hosts, real links, right sums (each rank checks its own)."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.ports.pcap.capture import read_capture

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "mininet" / "allreduce.py")
PATIENCE_S = 200
NEEDS_MININET = pytest.mark.skipif(shutil.which("mnexec") is None, reason="Mininet is not installed")
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=PATIENCE_S)


@NEEDS_ROOT
@pytest.mark.parametrize("network", ["namespaces", pytest.param("mininet", marks=NEEDS_MININET)])
def test_a_star_is_measured(network: str, tmp_path: Path) -> None:
    words = ["--workers", "2", "--rate", "50", "--sizes", "256KiB", "--calls", "2", "--on", network]
    done = run(
        *words,
        "--impair",
        "loss=0.01&delay=1ms&seed=7",
        "--slow",
        "2=40",
        "--out",
        str(tmp_path),
        "--capture",
        str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    with (tmp_path / "calls.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["backend"], row["call"]) for row in rows] == [(b, c) for b in ("netsum", "gloo") for c in "12"]
    for row in rows:
        assert (row["network"], row["impairments"], row["slow"]) == (network, "loss=0.01&delay=1ms&seed=7", "2=40")
        assert float(row["ms"]) >= float(row["links_alone_ms"])
        assert int(row["sent_bytes"]) > 256 << 10, "the tensor went by another way"
    assert read_capture(str(tmp_path / "50Mbit.pcapng")).interfaces == ("port 1", "port 2")
    assert (tmp_path / "allreduce.png").read_bytes().startswith(b"\x89PNG")
    assert f"netsum-{os.getpid()}" not in subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout


def test_the_star_in_virtual_time(tmp_path: Path) -> None:
    words = ["--workers", "2", "--rate", "50", "--sizes", "256KiB", "--calls", "2", "--on", "virtual"]
    done = run(
        *words,
        "--impair",
        "loss=0.01&delay=1ms&seed=7",
        "--slow",
        "2=40",
        "--out",
        str(tmp_path),
        "--capture",
        str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert "in virtual time, as asked" in done.stdout
    with (tmp_path / "calls.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["network"], row["backend"], row["call"]) for row in rows] == [("virtual", "netsum", c) for c in "12"]
    frames, frame_bytes = 256 + 1, 66 + 1024 + 42  # one of exponents; Ethernet, IPv4 and UDP around each
    for row in rows:
        assert frames * frame_bytes * 8 / 40e3 < float(row["ms"]) < 1.5 * frames * frame_bytes * 8 / 40e3
        assert int(row["sent_bytes"]) >= frames * frame_bytes


def test_virtual_time_simulates_loss_and_delay_alone() -> None:
    done = run("--on", "virtual", "--impair", "loss=0.01&jitter=1ms")
    assert done.returncode == 1
    assert done.stderr == (
        "allreduce.py: --on virtual simulates loss and delay alone, not all of 'loss=0.01&jitter=1ms'\n"
    )


@NEEDS_ROOT
def test_a_script_of_faults_is_played(tmp_path: Path) -> None:
    lines = ["at: 100ms, impair: h1-s1, loss: 5%, for: 300ms", "at: 500ms, down: h2->s1, for: 200ms"]
    lines += ["at: 800ms, restart: s1", "at: 900ms, slow: h1, to: 50%, for: 200ms"]
    (tmp_path / "faults.yaml").write_text("\n".join(["faults:", *(f"- {{{line}}}" for line in lines)]))
    words = ["--workers", "2", "--rate", "50", "--sizes", "256KiB", "--calls", "30", "--on", "namespaces"]
    done = run(*words, "--faults", str(tmp_path / "faults.yaml"), "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    with (tmp_path / "calls.csv").open() as file:
        assert {(row["backend"], row["faults"]) for row in csv.DictReader(file)} == {("netsum", "faults.yaml")}
    assert done.stderr.count("fault at") == 8, done.stderr
    assert "not possible" not in done.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--impair", "los=1"], "unknown option 'los'"),
        (["--rate", "0"], "--rate"),
        (["--sizes", "8X"], "'8X'"),
        (["--slow", "9=1"], "host 9 is not from 1 to 4"),
        (["--workers", "65"], "--workers is from 2 to 64"),
        (["--out", "/dev/null/x"], "--out: "),
    ],
)
def test_what_cannot_be_measured_is_refused_at_once(words: list[str], why: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert why in done.stderr
