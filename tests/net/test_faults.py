"""``netsum run --faults``: under every kind of fault the sums are right, or every rank has an error that names it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.labs.torch_jobs import SCRIPTS

PATIENCE_S = 170
HARMLESS = {
    "loss": "impair: h0-s0, loss: 10%, for: 200ms",
    "duplication": "impair: h0-s0, duplicate: 20%, for: 200ms",
    "reordering": "impair: h1-s0, reorder: 20%, delay: 200us, for: 200ms",
    "corruption": "impair: h1-s0, corrupt: 5%, for: 200ms",
    "rate": "impair: h1->s0, rate: 100Mbit, for: 200ms",
    "link down and up": "down: h1->s0, for: 200ms",
    "partition": "partition: [h0], for: 200ms",
    "slow host": "slow: rank 1, to: 30%, for: 200ms",
    "controller": "restart: controller, for: 200ms",
    "switch": "restart: s0",
}


def run(
    tmp_path: Path, script: str, *words: str, seconds: float, timeout_s: float = 60
) -> tuple[subprocess.CompletedProcess[str], Any]:
    """A run of ranks that sum for some seconds, and its report."""
    (tmp_path / "faults.yaml").write_text(script)
    command = [sys.executable, "-m", "hostagent.cli.main", "run", "--lanes", "256", *words]
    command += ["--faults", str(tmp_path / "faults.yaml"), "--report", str(tmp_path / "report.json")]
    command += [str(SCRIPTS / "faulty_sums.py"), str(seconds), str(timeout_s)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    report = tmp_path / "report.json"
    return done, json.loads(report.read_text()) if report.exists() else None


def one_after_another(faults: list[str], step_ms: int = 300) -> str:
    lines = [f"- {{at: {100 + index * step_ms}ms, {fault}}}" for index, fault in enumerate(faults)]
    return "\n".join(["seed: 7", "faults:", *lines]) + "\n"


def check_right(done: subprocess.CompletedProcess[str], report: Any, ranks: int, changes: int) -> None:
    assert done.returncode == 0, done.stderr
    said = sorted(line.partition(" after")[0] for line in done.stdout.splitlines() if "right" in line)
    assert said == [f"rank {rank} right" for rank in range(ranks)]
    assert len(report["faults"]) == changes, done.stderr
    assert not [fault for fault in report["faults"] if "problem" in fault]
    assert done.stderr.count("netsum run: fault at") == changes
    assert "is stopped" not in done.stderr


@pytest.mark.parametrize(
    ("aggregator", "kinds"),
    [
        ("p4", tuple(HARMLESS)),
        pytest.param("server", ("corruption", "link down and up", "switch"), marks=pytest.mark.slow),
    ],
)
def test_sums_are_right_under_every_fault_that_ends(tmp_path: Path, aggregator: str, kinds: tuple[str, ...]) -> None:
    faults = [HARMLESS[kind] for kind in kinds]
    words = ("-n", "2", "--aggregator", aggregator)
    done, report = run(tmp_path, one_after_another(faults), *words, seconds=0.3 * len(faults) + 1)
    check_right(done, report, 2, 2 * len(faults))
    assert report["switch"]["ports"]["1"]["links"]["in"]["pushed"] > 0


@pytest.mark.slow
def test_sums_are_right_through_a_tree_of_which_parts_are_cut_off(tmp_path: Path) -> None:
    faults = ["impair: s0-root, loss: 5%, for: 200ms", "partition: [s1, h2, h3], for: 200ms", "restart: s1"]
    done, report = run(tmp_path, one_after_another(faults), "--tree", "2x2", seconds=2)
    check_right(done, report, 4, 2 * len(faults))


def test_a_killed_host_ends_the_run_with_an_error_on_every_rank(tmp_path: Path) -> None:
    done, report = run(tmp_path, "faults: [{at: 200ms, kill: h1}]", "-n", "3", seconds=100)
    assert done.returncode == 137, done.stderr
    assert "rank 1 was killed by SIGKILL" in done.stderr
    errors = re.findall(r"LostError: netsum: .*rank 1 .*", done.stderr)
    assert len(errors) == 2, done.stderr
    assert [fault["what"] for fault in report["faults"]] == ["h1 killed"]
    assert "right" not in done.stdout


def test_a_link_that_stays_down_ends_the_run_with_an_error_that_names_the_rank(tmp_path: Path) -> None:
    done, _ = run(tmp_path, "faults: [{at: 200ms, down: h1-s0}]", "-n", "3", seconds=100, timeout_s=3)
    assert done.returncode not in (0, 2), done.stderr
    assert "Timed out waiting" in done.stderr
    assert "right" not in done.stdout


@pytest.mark.parametrize(
    ("script", "words", "wrong"),
    [
        ("faults: [{at: 1s, down: h2-s0}]", ("-n", "2"), "there is no link 'h2-s0' in star-2 (did you mean"),
        ("faults: [{at: 1s, down: h0-s0}]", ("--racks", "2", "--aggregator", "server"), "--faults needs a switch"),
        ("faults: [{at: 1s, down: h0-s0}]", ("--controller", "127.0.0.1:1"), "--faults"),
    ],
)
def test_what_cannot_be_is_said_before_the_run_starts(tmp_path: Path, script: str, words: Any, wrong: str) -> None:
    (tmp_path / "faults.yaml").write_text(script)
    command = [sys.executable, "-m", "hostagent.cli.main", "run", "--faults", str(tmp_path / "faults.yaml"), *words]
    done = subprocess.run([*command, __file__], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode in (1, 2)
    assert wrong in done.stderr
