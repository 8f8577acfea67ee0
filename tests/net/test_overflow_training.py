"""``netsum run --overflow``: eight jobs at once on a P4 switch with too few slots; switch and server are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.labs.torch_jobs import switches_of

SCRIPT = """
import sys
import torch, torch.distributed as dist
dist.init_process_group("netsum")
rank, size = dist.get_rank(), dist.get_world_size()
groups = [None, *(dist.new_group() for _ in range(7))]
values = torch.arange(10_000, dtype=torch.float32) % 1000
def start(group, number):
    tensor = (number + 1) * (values + rank)
    wanted = (number + 1) * (values * size + size * (size - 1) / 2)
    return dist.all_reduce(tensor, group=group, async_op=True), tensor, wanted
for step in range(int(sys.argv[1])):
    for work, tensor, wanted in [start(group, number) for number, group in enumerate(groups)]:
        work.wait()
        assert torch.equal(tensor, wanted), step
    if rank == 0 and step in (2, 8):
        sys.stdout.write(f"step {step}\\n")
        sys.stdout.flush()
sys.stdout.write(f"rank {rank} right\\n")
dist.destroy_process_group()
"""


def test_eight_jobs_sum_right_though_switch_and_server_restart(tmp_path: Path) -> None:
    script, report = tmp_path / "train.py", tmp_path / "report.json"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "hostagent.cli.main", "run", "-n", "2", "--lanes", "256", "--slots", "16"]
    command += ["--overflow", "server", "--report", str(report), str(script), "20"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout is not None
    said = []
    for place in (0, 1):  # the server, then the switch
        said.append(run.stdout.readline())
        os.kill(switches_of(run.pid)[place], signal.SIGKILL)
    out, err = run.communicate(timeout=120)
    assert run.returncode == 0, err
    assert sorted(line for line in out.splitlines() if "right" in line) == [f"rank {r} right" for r in (0, 1)], said
    assert err.count("was killed by SIGKILL; restarted") == 2, err
    jobs = json.loads(report.read_text())["jobs"]
    assert len(jobs) == 8
    verdicts = [job["verdicts"] for job in jobs]
    assert all(0 < each["completed_at_server"] <= each["completed"] for each in verdicts)
    assert any(each["completed_at_server"] < each["completed"] for each in verdicts)
    assert "chunks were summed at the switch" in err
