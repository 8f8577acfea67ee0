"""Training on the model of a PsPIN switch whose links lose, repeat and reorder frames, and which is killed half-way."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.labs.torch_jobs import PATIENCE_S, SCRIPTS, children_of

IMPAIR = "loss=0.02&duplicate=0.02&reorder=0.02&seed=5"


@pytest.mark.timeout(300)
def test_training_on_pspin_outlives_losses_and_the_switchs_death(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    words = ["run", "-n", "2", "--lanes", "64", "--aggregator", "pspin", "--impair", IMPAIR]
    command = [sys.executable, "-m", "hostagent.cli.main", *words, str(SCRIPTS / "noisy_training.py"), str(go_on)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if line.startswith("half-way"):
                break
        else:
            pytest.fail(run.communicate()[1])
        (switch,) = (pid for pid, line in children_of(run.pid).items() if " aggregator pspin " in line)
        os.kill(switch, signal.SIGKILL)
        go_on.touch()
        output, errors = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, errors
    assert "netsum run: the PsPIN switch was killed by SIGKILL; restarted" in errors
    found = re.findall(r"rank (\d) parameters (\w+)", output)
    assert [rank for rank, _ in sorted(found)] == ["0", "1"]
    assert len({told for _, told in found}) == 1
