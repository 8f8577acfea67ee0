"""The experiment on Mininet, where Mininet is: real hosts, real links, right sums (each rank checks its own)."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 200

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="Mininet makes network namespaces"),
    pytest.mark.skipif(shutil.which("mnexec") is None, reason="Mininet is not installed"),
]


def test_a_star_is_measured(tmp_path: Path) -> None:
    table, picture = tmp_path / "star.csv", tmp_path / "star.png"
    command = [sys.executable, str(ROOT / "mininet" / "star.py"), "--hosts", "2", "--size-mib", "0.25"]
    command += ["--rate", "50", "--calls", "2", "--csv", str(table), "--plot", str(picture)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    with table.open() as file:
        rows = {row["backend"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"netsum", "gloo"}
    for row in rows.values():
        assert float(row["median_ms"]) >= float(row["link_limit_ms"])
        assert int(row["sent_bytes"]) > 0.25 * (1 << 20), "the tensor went by another way"
    assert picture.read_bytes().startswith(b"\x89PNG")
