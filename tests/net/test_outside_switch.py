"""Ranks over a switch that runs already and has interfaces only, as bmv2 does; one command starts all the rest."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostagent.cli.bench.veth import VethPairs
from hostagent.cli.bmv2.p4c import run as p4c
from tests.labs.one_namespace import one_namespace

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120
ADDRESS = "127.0.0.1:9559"
LANES = 64
SCRIPT = """
import torch, torch.distributed as dist
dist.init_process_group("netsum")
rank, size = dist.get_rank(), dist.get_world_size()
for count in (1, 64, 5000):
    tensor = torch.arange(count, dtype=torch.int32) * (rank + 1)
    dist.all_reduce(tensor)
    assert torch.equal(tensor, torch.arange(count, dtype=torch.int32) * (size * (size + 1) // 2)), count
"""


def inside(namespace: str, *words: str) -> list[str]:
    return VethPairs.command(namespace, [sys.executable, "-m", *words])


@pytest.fixture
def namespace() -> Iterator[str]:
    """With a switch on sw1 and sw2, started as Mininet's scripts do; veth1 and veth2 lead to it."""
    with one_namespace("outside", pairs=2) as name:
        words = ["--no-p4", "-i", "1@sw1", "-i", "2@sw2", "--", "--grpc-server-addr", ADDRESS]
        command = inside(name, "hostagent.cli.bmv2.simple_switch_grpc", *words)
        switch = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        try:
            assert switch.stdout is not None
            assert "Server listening" in switch.stdout.readline()
            yield name
        finally:
            switch.terminate()
            switch.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize("impairments", [pytest.param("", marks=pytest.mark.slow), "loss=0.05&duplicate=0.02&seed=5"])
def test_ranks_sum_through_it_with_the_json_of_p4c(namespace: str, impairments: str, tmp_path: Path) -> None:
    script, report = tmp_path / "sums.py", tmp_path / "report.json"
    script.write_text(SCRIPT)
    info, config = str(tmp_path / "a.p4info.txtpb"), str(tmp_path / "a.json")
    source = str(ROOT / "p4src" / "allreduce.p4")
    assert p4c([f"-DLANES={LANES}", "--p4runtime-files", info, "-o", config, source]) == 0
    words = ["-n", "2", "--aggregator", f"p4runtime://{ADDRESS}", "--p4info", info, "--device-config", config]
    words += ["--interface", "veth1", "--interface", "veth2", "--lanes", str(LANES), "--report", str(report)]
    words += ["--impair", impairments] if impairments else []
    command = inside(namespace, "hostagent.cli.main", "run", *words, str(script))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    (job,) = json.loads(report.read_text())["jobs"]
    assert job["lanes"] == LANES
    assert job["verdicts"]["accepted"] == 2 * job["verdicts"]["completed"]
