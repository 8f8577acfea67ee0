"""One script on every aggregator: the same bits, also where the aggregator is killed on the way."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hostagent.launch.aggregators import running_aggregator
from tests.labs.torch_jobs import PATIENCE_S, SCRIPTS, children_of

LANES = 336
"""The aggregators run in shared memory: any number would do; this one is no power of two."""


@pytest.mark.timeout(400)  # starts ten processes
def test_every_aggregator_gives_the_same_bits_and_outlives_its_own_death(tmp_path: Path) -> None:
    """The rack server is killed in the middle of the script and started again."""
    with (
        running_aggregator(2, lanes=LANES, folder=tmp_path) as p4,
        running_aggregator(2, "pspin", lanes=LANES) as pspin,
    ):
        words = ["run", "-n", "2", "--lanes", str(LANES), "--aggregator", "server", str(SCRIPTS / "digest.py")]
        command = [sys.executable, "-m", "hostagent.cli.main", *words, "slow", p4.address, pspin.address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            for line in run.stdout:
                if line.startswith("step 2"):
                    break
            (server,) = (pid for pid, line in children_of(run.pid).items() if " aggregator server " in line)
            os.kill(server, signal.SIGKILL)
            output, errors = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, errors
    assert "netsum run: the rack server was killed by SIGKILL; restarted" in errors
    found = re.findall(r"rank (\d) aggregator (\d) digest (\w+)", output)
    assert {(rank, aggregator) for rank, aggregator, _ in found} == {(r, a) for r in "01" for a in "012"}
    assert len({told for *_, told in found}) == 1, found


@pytest.mark.parametrize(
    ("aggregator", "trouble"),
    [
        ("p4", "restart"),
        pytest.param("server", "restart", marks=pytest.mark.slow),
        pytest.param("p4", "flips", marks=pytest.mark.slow),
        ("server", "flips"),
    ],
)
def test_messages_outlive_troubles_of_the_aggregator(aggregator: str, trouble: str) -> None:
    """What arrives is what was sent. (A dead receiver is an error that names it: test_torch_processes.)"""
    words = ["run", "-n", "3", "--lanes", "256", "--aggregator", aggregator]
    words += ["--impair", "corrupt=0.001&seed=7"] if trouble == "flips" else []
    command = [sys.executable, "-m", "hostagent.cli.main", *words, str(SCRIPTS / "troubled_messages.py"), trouble]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        if trouble == "restart" and "exchange 2\n" in run.stdout:
            kind = " switch " if aggregator == "p4" else " aggregator server "
            (pid,) = (pid for pid, line in children_of(run.pid).items() if kind in line)
            os.kill(pid, signal.SIGKILL)
        output, errors = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, errors
    assert {line for line in output.splitlines() if "has all" in line} == {f"rank {rank} has all" for rank in range(3)}
    assert ("restarted" in errors) == (trouble == "restart")
