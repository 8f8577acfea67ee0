"""What FRAMEWORKS.md tells people to write: each framework trains, and its gradients went through the switch."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest

from tests.labs.torch_jobs import SCRIPTS

PATIENCE_S = 170.0


@pytest.mark.parametrize(
    ("framework", "options"), [("fsdp2", []), ("accelerate", ["--replace-backend", "gloo"]), ("lightning", [])]
)
def test_a_framework_trains_in_the_network(tmp_path, framework, options):
    if framework != "fsdp2" and importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed: pip install {framework}")
    report = tmp_path / "report.json"
    run = [sys.executable, "-m", "hostagent.cli.main", "run", "-n", "2", "--lanes", "64", "--report", str(report)]
    line = [*run, *options, str(SCRIPTS / "frameworks.py"), framework]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count(f"{framework} on netsum: alike") == 2
    counters = [name for job in json.loads(report.read_text())["jobs"] for name in job["members"][0]["counters"]]
    assert any("/SUM/float32/" in name for name in counters), counters
