"""Jobs of one run at a P4 switch with too few slots: one that runs lends some to one that comes, and gets them back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import os, sys, time
import torch, torch.distributed as dist
from hostagent.launch.status import fetch_status

dist.init_process_group("netsum")
rank, size = dist.get_rank(), dist.get_world_size()
values = torch.arange(20_000, dtype=torch.float32) % 1000

def windows():
    return sorted(job.window for job in fetch_status(os.environ["NETSUM_CONTROLLER"]).jobs)

def sum_until(wanted, groups):
    end_s, going = time.monotonic() + 60, torch.ones(1)
    while going.item():
        for number, group in enumerate(groups, 1):
            tensor = number * (values + rank)
            dist.all_reduce(tensor, group=group)
            assert torch.equal(tensor, number * (values * size + size * (size - 1) / 2))
        assert time.monotonic() < end_s, windows()
        going = torch.tensor([float(rank == 0 and windows() != wanted)])
        dist.broadcast(going, 0)
    if rank == 0:
        print(wanted, flush=True)

sum_until([32], [None])
other = dist.new_group()
sum_until([16, 16], [None, other])
dist.destroy_process_group(other)
sum_until([32], [None])
dist.destroy_process_group()
"""


def test_a_group_lends_half_of_its_slots_to_another_and_gets_them_back_without_a_restart(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "hostagent.cli.main", "run", "-n", "2", "--lanes", "256", "--slots", "32"]
    run = subprocess.run(
        [*command, "--share", "2", "--priority", "1", str(script)], capture_output=True, text=True, timeout=180
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "[32]\n[16, 16]\n[32]\n", run.stderr
