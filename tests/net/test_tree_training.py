"""``netsum run --tree``: training through a tree of aggregators, of which some are killed on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.labs.torch_jobs import switches_of

SCRIPT = """
import os, sys
import torch, torch.distributed as dist
dist.init_process_group("netsum")
rank, size = dist.get_rank(), dist.get_world_size()
values = torch.arange(50_000, dtype=torch.float32) % 1000
wanted = values * size + size * (size - 1) / 2
halves = [dist.new_group([0, 1]), dist.new_group([0, size - 1])]
for step in range(int(sys.argv[1])):
    tensor = values + rank
    dist.all_reduce(tensor)
    assert torch.equal(tensor, wanted), step
    if rank == 0 and step % 20 == 5:
        sys.stdout.write(f"step {step}\\n")
        sys.stdout.flush()
if rank == 0:
    dist.send(torch.tensor([7.0]), size - 1)
elif rank == size - 1:
    tensor = torch.zeros(1)
    dist.recv(tensor, 0)
    assert tensor.item() == 7
for group in halves:
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=group)
    assert tensor.tolist() in ([2.0] * 3, [1.0] * 3)
dist.barrier()
sys.stdout.write(f"rank {rank} right\\n")  # one write, or lines of several ranks mix where PYTHONUNBUFFERED is set
dist.destroy_process_group()
"""


@pytest.mark.parametrize(
    ("tree", "root", "leaves", "victims"),
    [
        pytest.param("2x2", "p4", "p4", (0,), id="root", marks=pytest.mark.slow),
        pytest.param("2x2", "p4", "p4", (0, 2), id="root and leaf"),
        pytest.param("2x2", "server", "p4", (0, 1), id="server and leaf"),
        pytest.param("2x2", "pspin", "p4", (), id="PsPIN", marks=pytest.mark.slow),
        pytest.param("2x2", "p4", "server", (2,), id="server below P4"),
        pytest.param("2x1x2", "server", "pspin,p4", (1,), id="P4 below PsPIN below server", marks=pytest.mark.slow),
        pytest.param("2x1+3", "p4", "p4", (), id="leaves with one and three ranks", marks=pytest.mark.slow),
    ],
)
def test_a_tree_sums_right_whatever_restarts(
    tmp_path: Path, tree: str, root: str, leaves: str, victims: tuple[int, ...]
) -> None:
    script, report = tmp_path / "train.py", tmp_path / "report.json"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "hostagent.cli.main", "run", "--tree", tree, "--lanes", "256"]
    command += [
        "--aggregator",
        root,
        "--leaves",
        leaves,
        "--report",
        str(report),
        str(script),
        "120" if victims else "20",
    ]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout is not None
    said = [run.stdout.readline()]
    switches = switches_of(run.pid)
    for victim in victims:
        os.kill(switches[victim], signal.SIGKILL)
    out, err = run.communicate(timeout=180)
    assert run.returncode == 0, err
    assert sorted(line for line in out.splitlines() if "right" in line) == [f"rank {r} right" for r in range(4)], said
    assert err.count("was killed by SIGKILL; restarted") == len(victims), err
    counters = json.loads(report.read_text())
    assert len(counters["switches"]) == (5 if tree == "2x1x2" else 3)
    assert all("ports" in each for each in counters["switches"])
    assert [each["name"] for each in counters["switches"][:2]] == ["root", "s0"]
    job = max(counters["jobs"], key=lambda each: each["size"])
    assert job["verdicts"]["from_parent"] > 0


MANY = """
import sys
import torch, torch.distributed as dist
dist.init_process_group("netsum")
rank, size = dist.get_rank(), dist.get_world_size()
values = torch.arange(20_000, dtype=torch.float32) % 1000
for step in range(3):
    tensor = values + rank
    dist.all_reduce(tensor)
    assert torch.equal(tensor, values * size + size * (size - 1) / 2), step
parts = [torch.zeros(3) for _ in range(size)]
dist.all_gather(parts, torch.full((3,), float(rank)))
assert [int(each[0]) for each in parts] == list(range(size))
if rank == 0:
    dist.send(torch.tensor([7.0]), size - 1)
elif rank == size - 1:
    tensor = torch.zeros(1)
    dist.recv(tensor, 0)
    assert tensor.item() == 7
infinite = torch.full((5,), float("inf") if rank == size - 2 else 1.0)
dist.all_reduce(infinite)
assert torch.isinf(infinite).all()
dist.barrier()
sys.stdout.write(f"rank {rank} right\\n")
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("tree", "ranks"), [("2x36", 72), ("2x2x2x2", 16)])
def test_more_ranks_than_a_bitmap_has_bits_and_four_levels(tmp_path: Path, tree: str, ranks: int) -> None:
    script = tmp_path / "train.py"
    script.write_text(MANY)
    command = [sys.executable, "-m", "hostagent.cli.main", "run", "--tree", tree, "--lanes", "256", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    said = sorted(line for line in done.stdout.splitlines() if "right" in line)
    assert said == sorted(f"rank {rank} right" for rank in range(ranks))


OPTIMIZER = """
import sys, zlib
import torch, torch.distributed as dist
from hostagent import RackOptimizer
dist.init_process_group("netsum")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(300, 100), torch.nn.ReLU(), torch.nn.Linear(100, 50))
split = {"max_norm": 1.0, "skip_nonfinite": True} if sys.argv[1] == "sgd" else {}
optimizer = RackOptimizer(model.parameters(), optim=sys.argv[1], lr=1e-2, **split)
for step in range(5):
    drawn = torch.Generator().manual_seed(step * size + rank)
    optimizer.zero_grad()
    loss = model(torch.randn(16, 300, generator=drawn)).square().mean()
    (loss * float("inf") if split and (step, rank) == (3, 1) else loss).backward()
    optimizer.step()
weights = zlib.crc32(b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters()))
sys.stdout.write(f"rank {rank} {weights:08x} skipped {optimizer.skipped_steps}\\n")
optimizer.close()
dist.destroy_process_group()
"""


@pytest.mark.parametrize(
    ("options", "optimizer"),
    [
        (["--tree", "2x2"], "adam"),
        pytest.param(["--tree", "2x1x2", "--leaves", "p4,pspin"], "sgd", marks=pytest.mark.slow),
    ],
)
def test_an_optimizer_above_leaves_steps_as_without_them(tmp_path: Path, options: list[str], optimizer: str) -> None:
    """The same weights, bit by bit; "sgd" pushes and pulls, and leaves out a step."""
    script = tmp_path / "train.py"
    script.write_text(OPTIMIZER)
    said = []
    for network in (["-n", "4"], options):
        command = [sys.executable, "-m", "hostagent.cli.main", "run", *network, "--aggregator", "server"]
        command += ["--lanes", "256", str(script), optimizer]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
        assert done.returncode == 0, done.stderr
        said.append(sorted(line for line in done.stdout.splitlines() if "skipped" in line))
    assert len({line.partition(" ")[2].partition(" ")[2] for lines in said for line in lines}) == 1
    assert said[0] == said[1]
    assert [line.endswith(f"skipped {int(optimizer == 'sgd')}") for line in said[1]] == [True] * 4


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--tree 2x40 --leaves server", "more than 64 ranks, here 80, are for trees of P4 switches alone"),
        ("--tree 2x2 -n 3", "2x2 has 4 ranks, but -n says 3"),
    ],
)
def test_a_tree_that_cannot_be_is_refused_with_a_clear_error(tmp_path: Path, options: str, text: str) -> None:
    script = tmp_path / "train.py"
    script.write_text("")
    command = [sys.executable, "-m", "hostagent.cli.main", "run", *options.split(), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert text in done.stderr
