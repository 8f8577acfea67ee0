"""Ranks dealt to two racks' servers, as processes: every rack steps the same totals."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.net.torch_jobs import PATIENCE_S, SCRIPTS

LANES = 256


def test_ranks_of_two_racks_have_the_same_weights_and_a_part_of_every_chunk_crosses_each_way(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    words = ["run", "-n", "2", "--aggregator", "server", "--rack-of", "1,0", "--lanes", str(LANES)]
    words += ["--report", str(report)]
    script = [str(SCRIPTS / "rack_training.py"), "--steps", "20", "--hidden", "40"]
    command = [sys.executable, "-m", "hostagent.cli.main", *words, *script]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert run.returncode == 0, run.stderr
    weights = re.findall(r"rank (\d) has weights (\w+) after step 20", run.stdout)
    assert len(weights) == 2
    assert len({told for _, told in weights}) == 1
    told = json.loads(report.read_text())
    between = [rack["core"]["between_racks"] for rack in told["racks"]]
    assert [(rack["core"]["rack"], rack["ranks"]) for rack in told["racks"]] == [(0, [1]), (1, [0])]
    (job,) = told["jobs"]
    chunks = job["verdicts"]["completed"] // 2  # of both racks
    totals = sum(rack["total_bytes"] for rack in between)
    assert 0 < totals <= 4 * LANES * chunks  # a chunk without data has a total without
    assert 0 < sum(rack["part_bytes"] for rack in between) <= totals
