"""Ranks dealt to two racks' servers, as processes: every rack steps the same totals, and one that is lost gets them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.labs.torch_jobs import PATIENCE_S, SCRIPTS

STEPS = 30
WEIGHTS = re.compile(r"has weights (\w+) after step (\d+)")


def child_with(parent: subprocess.Popen[str], words: tuple[str, ...]) -> int:
    """The id of its child whose command has these words, one behind the other; waits for it."""
    wanted = "\0".join(words).encode()
    while parent.poll() is None:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                is_child = int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent.pid
                if is_child and wanted in (folder / "cmdline").read_bytes():
                    return int(folder.name)
            except (OSError, IndexError):
                continue  # it has ended
        time.sleep(0.05)
    raise AssertionError(f"it has ended, and had no child with {' '.join(words)}")


def test_a_rack_with_a_lost_server_continues_from_the_others_step(tmp_path: Path) -> None:
    report, victim = tmp_path / "report.json", tmp_path / "victim"
    words = ["run", "-n", "2", "--aggregator", "server", "--rack-of", "1,0", "--lanes", "256", "--report", str(report)]
    script = [str(SCRIPTS / "rack_training.py"), "--steps", str(STEPS), "--hidden", "40", "--kill", str(victim)]
    command = [sys.executable, "-m", "hostagent.cli.main", *words, *script, "--then", "calm"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        try:
            beside = tmp_path / "written"
            beside.write_text(str(child_with(run, ("--rack", "1"))))
            beside.rename(victim)
            output, _ = run.communicate(timeout=PATIENCE_S)
        finally:
            run.kill()
    assert run.returncode == 0, output
    assert "the rack server of rack 1 was killed by SIGKILL; restarted" in output
    joined = {int(step) for step in re.findall(r"joins again after step (\d+)", output)}
    assert len(joined) == 1  # step 9 where the other rack had not yet all of step 10
    assert joined <= {9, 10}
    trained = WEIGHTS.findall(output)  # each rank's disturbed training, and its calm one
    assert len(trained) == 4
    assert len(set(trained)) == 1
    racks = json.loads(report.read_text())["racks"]
    assert [(rack["core"]["rack"], rack["ranks"]) for rack in racks] == [(0, [1]), (1, [0])]
    assert all(rack["core"]["between_racks"]["part_bytes"] > 0 for rack in racks)


@pytest.mark.slow
def test_messages_of_every_kind_cross_racks(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    words = ["run", "-n", "4", "--aggregator", "server", "--racks", "2", "--lanes", "256", "--report", str(report)]
    command = [sys.executable, "-m", "hostagent.cli.main", *words, str(SCRIPTS / "messages.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("all equal") == 4
    racks = json.loads(report.read_text())["racks"]
    assert [rack["ranks"] for rack in racks] == [[0, 1], [2, 3]]
    assert all(rack["core"]["between_racks"]["message_bytes"] > 0 for rack in racks)
