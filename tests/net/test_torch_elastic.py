"""torchrun with two agents (as on two machines) and elastic restarts: a killed rank costs an attempt, and no more."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from hostagent.launch.aggregators import Aggregator, running_aggregator
from hostagent.launch.status import fetch_status
from tests.labs.torch_jobs import SCRIPTS, free_port

PATIENCE_S = 150.0
NODES, PER_NODE = 2, 2


@pytest.fixture
def aggregator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aggregator]:
    """A switch with just enough ports, and shared memory of its own."""
    folder = Path(f"/dev/shm/test-{os.getpid()}-{tmp_path.name}")
    folder.mkdir()
    monkeypatch.setenv("NETSUM_SHM", str(folder))
    with running_aggregator(NODES * PER_NODE, lanes=64, folder=tmp_path) as running:
        yield running
    assert list(folder.iterdir()) == []
    folder.rmdir()


def start_agents(aggregator: Aggregator, *arguments: str, max_restarts: int) -> list[subprocess.Popen[str]]:
    """One torchrun for each node."""
    environment = {**os.environ, "NETSUM_CONTROLLER": aggregator.address, "OMP_NUM_THREADS": "1"}
    options = [f"--nnodes={NODES}", f"--nproc-per-node={PER_NODE}", f"--max-restarts={max_restarts}"]
    options += ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}", "--rdzv-id=job"]
    line = [sys.executable, "-m", "torch.distributed.run", *options, str(SCRIPTS / "elastic_training.py"), *arguments]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return [subprocess.Popen(line, env=environment, **pipes) for _ in range(NODES)]


def until_all_is_free(address: str) -> Any:
    """The controller's status when it knows of no process any more: those that were killed are dead after 2 s."""
    end_s = time.monotonic() + 20
    while True:
        status = fetch_status(address)
        if time.monotonic() > end_s or not (status.jobs or any(port.pid for port in status.ports)):
            return status
        time.sleep(0.1)


def test_a_killed_rank_is_replaced_and_the_job_goes_on_from_its_checkpoint(aggregator, tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    agents = start_agents(aggregator, str(tmp_path / "checkpoint.pt"), str(results), max_restarts=2)
    try:
        outputs = [agent.communicate(timeout=PATIENCE_S)[0] for agent in agents]
    finally:
        for agent in agents:
            agent.kill()
    assert [agent.returncode for agent in agents] == [0, 0], "\n".join(outputs)
    said = "\n".join(outputs)
    assert said.count("begins at step 0\n") == said.count("begins at step 10\n") == NODES * PER_NODE, said
    ends = [torch.load(results / f"rank-{rank}.pt")["weight"] for rank in range(NODES * PER_NODE)]
    assert all(torch.equal(end, ends[0]) for end in ends)
    assert torch.allclose(ends[0], uninterrupted(), rtol=1e-4, atol=1e-6)
    status = until_all_is_free(aggregator.address)
    assert not status.jobs
    assert status.slots_free == status.slots
    assert [port.pid for port in status.ports] == [0] * NODES * PER_NODE


def uninterrupted() -> torch.Tensor:
    """The weights after the same 20 steps in one process, with the average of the ranks' gradients."""
    sys.path.insert(0, str(SCRIPTS))
    sys.argv = ["", "", ""]
    training = importlib.import_module("elastic_training")

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    size = NODES * PER_NODE
    for step in range(training.STEPS):
        optimizer.zero_grad()
        for rank in range(size):
            (model(training.batch(step, rank)).square().sum() / size).backward()
        optimizer.step()
    return model.weight.detach()
