"""NETSUM_STRAGGLERS with a rank that comes late: wait for it, fail and name it, or proceed without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.labs.torch_jobs import SCRIPTS

PATIENCE_S = 170
ALL, WITHOUT_1 = "[7.0, 2.3333332538604736, 2] [3, 3, 3]", "[5.0, 2.5, 2] [2, 2, 2]"
"""Of 2^0, 2^1, 2^2: the sum, the average, the average of integers; and how many ranks are in each."""
BLIND = "[None, None, None]"


def run(tmp_path: Path, stragglers: str, late_s: float, bound: str = "200ms") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hostagent.cli.main", "run", "-n", "3", "--lanes", "256"]
    command += ["--report", str(tmp_path / "report.json"), str(SCRIPTS / "late_rank.py"), str(late_s)]
    variables = {"NETSUM_STRAGGLERS": stragglers, "NETSUM_STRAGGLER_BOUND": bound}
    environment = os.environ | variables
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S, env=environment)


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    return sorted(line for line in done.stdout.splitlines() if line.startswith("rank "))


def test_sums_proceed_without_a_late_rank_which_gets_them_too(tmp_path: Path) -> None:
    done = run(tmp_path, "proceed", 4, "500ms")  # the others must not seem late on a busy machine
    assert done.returncode == 0, done.stderr
    wanted = [
        f"rank {rank} step {step}: {WITHOUT_1 if step == 2 else ALL} in time" for rank in range(3) for step in range(5)
    ]
    assert [line for line in lines(done) if " 2: " in line] == [line for line in wanted if " 2: " in line]
    # while rank 1 was away the others went on, so it has missed what follows, too, until it caught up
    for line in lines(done):
        assert line.endswith((f"{ALL} in time", f"{WITHOUT_1} in time")), line
    by_rank = [
        [line.split(": ", 1)[1] for line in lines(done) if line.startswith(f"rank {rank} ")] for rank in range(3)
    ]
    assert by_rank[0] == by_rank[1] == by_rank[2]
    members = json.loads((tmp_path / "report.json").read_text())["jobs"][0]["members"]
    missed = [member["counters"].get("missed_operations", 0) for member in members]
    assert missed[1] >= 6
    assert missed[0] == missed[2] == 0


def test_a_late_rank_ends_the_job_with_an_error_that_names_it(tmp_path: Path) -> None:
    done = run(tmp_path, "fail", 60)
    assert done.returncode not in (0, 137), done.stderr
    assert "Timed out waiting 200ms" in done.stderr
    assert "rank 1 had not contributed" in done.stderr


@pytest.mark.slow
def test_without_a_choice_everybody_waits(tmp_path: Path) -> None:
    done = run(tmp_path, "wait", 2)
    assert done.returncode == 0, done.stderr
    assert len(lines(done)) == 15
    for line in lines(done):  # how long each waited depends on who came first to the step
        assert line.split(": ", 1)[1].startswith(f"{ALL.split(' [3')[0]} {BLIND} "), line
