"""torchrun with several agents, on one machine and on several, and elastic restarts.

Whatever is killed costs an attempt, and no more: the job goes on from its checkpoint, and nothing stays taken.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from hostagent.launch.aggregators import running_aggregator
from hostagent.launch.processes import netsum_command
from hostagent.launch.status import fetch_status
from tests.labs.machines import Machine, machines
from tests.labs.torch_jobs import SCRIPTS, free_port

PATIENCE_S = 150.0
NODES, PER_NODE = 2, 2
RANKS = NODES * PER_NODE


class Training:
    """A job of elastic_training.py: its agents, and the files of its ranks."""

    def __init__(self, folder: Path, controller: str, rendezvous: str, wait_in: tuple[int, ...]) -> None:
        self._controller = controller
        self.results = folder / "results"
        self.results.mkdir()
        options = [f"--nnodes={NODES}", f"--nproc-per-node={PER_NODE}", "--max-restarts=3"]
        options += ["--rdzv-backend=c10d", f"--rdzv-endpoint={rendezvous}", "--rdzv-id=job"]
        options += ["--rdzv-conf=keep_alive_interval=1,keep_alive_max_attempt=2"]  # a lost node is missed after 2 s
        arguments = [str(folder / "checkpoint.pt"), str(self.results), *map(str, wait_in)]
        self._line = [sys.executable, "-m", "torch.distributed.run", *options]
        self._line += [str(SCRIPTS / "elastic_training.py"), *arguments]
        self.agents: list[subprocess.Popen[str]] = []

    def start_agent(self, machine: Machine | None = None) -> subprocess.Popen[str]:
        """torchrun of one node."""
        variables = {"NETSUM_CONTROLLER": self._controller, "OMP_NUM_THREADS": "1"}
        variables["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"  # an agent that comes later never learns of a shared one
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        if machine is None:
            self.agents.append(subprocess.Popen(self._line, env={**os.environ, **variables}, **pipes))
        else:
            self.agents.append(machine.start(self._line, variables))
        return self.agents[-1]

    def waiting_in(self, step: int) -> list[int]:
        """Processes of the last node's ranks, once they wait in that step."""
        files = [self.results / f"step-{step}-rank-{rank}" for rank in range(RANKS - PER_NODE, RANKS)]
        until(lambda: all(file.exists() for file in files) or any(agent.poll() for agent in self.agents))
        return [int(file.read_text()) for file in files]

    def finish(self) -> str:
        """Everything that the agents said, once all of them have ended; those that were not killed without an error."""
        outputs = [agent.communicate(timeout=PATIENCE_S)[0] for agent in self.agents]
        assert [agent.returncode for agent in self.agents if agent.returncode != -signal.SIGKILL] == [0, 0], outputs
        return "\n".join(outputs)

    def kill(self) -> None:
        for agent in self.agents:
            agent.kill()
            agent.wait()


@contextmanager
def training(folder: Path, controller: str, rendezvous: str, wait_in: tuple[int, ...]) -> Iterator[Training]:
    """None of its agents survives the block."""
    made = Training(folder, controller, rendezvous, wait_in)
    try:
        yield made
    finally:
        made.kill()


def until(condition: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
    """Return once it is true."""
    end_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end_s, "it has not come true in time"
        time.sleep(0.05)


def check_result(job: Training, said: str, begins: dict[int, int]) -> None:
    """Every attempt began where it should (step -> attempts), and the weights are those of an undisturbed training."""
    counts = {step: said.count(f"begins at step {step}\n") for step in range(0, 20, 5)}
    assert counts == {step: RANKS * begins.get(step, 0) for step in range(0, 20, 5)}, said
    ends = [torch.load(job.results / f"rank-{rank}.pt")["weight"] for rank in range(RANKS)]
    assert all(torch.equal(end, ends[0]) for end in ends)
    assert torch.allclose(ends[0], uninterrupted(), rtol=1e-4, atol=1e-6)


def uninterrupted() -> torch.Tensor:
    """The weights after the same 20 steps in one process, with the average of the ranks' gradients."""
    sys.path.insert(0, str(SCRIPTS))
    sys.argv = ["", "", ""]
    script = importlib.import_module("elastic_training")

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(script.STEPS):
        optimizer.zero_grad()
        for rank in range(RANKS):
            (model(script.batch(step, rank)).square().sum() / RANKS).backward()
        optimizer.step()
    return model.weight.detach()


def check_status(status: Any) -> None:
    """No job, no slot and no port is in use."""
    assert not status.jobs
    assert status.slots_free == status.slots
    assert [port.pid for port in status.ports] == [0] * RANKS


def test_a_killed_rank_is_replaced_and_the_job_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    folder = Path(f"/dev/shm/test-{os.getpid()}-{tmp_path.name}")
    folder.mkdir()
    monkeypatch.setenv("NETSUM_SHM", str(folder))
    with running_aggregator(RANKS, lanes=64, folder=tmp_path) as aggregator:  # with just enough ports
        with training(tmp_path, aggregator.address, f"127.0.0.1:{free_port()}", (12,)) as job:
            for _ in range(NODES):
                job.start_agent()
            os.kill(job.waiting_in(12)[-1], signal.SIGKILL)
            check_result(job, job.finish(), {0: 1, 10: 1})
        until(lambda: not fetch_status(aggregator.address).jobs)
        check_status(fetch_status(aggregator.address))
    assert list(folder.iterdir()) == []
    folder.rmdir()


CONTROLLER, RENDEZVOUS = "hub:47000", "node0:29400"


@contextmanager
def aggregation(hub: Machine, ports: Sequence[str]) -> Iterator[None]:
    """Switch and controller on a machine, as in FRAMEWORKS.md."""
    words = [word for port in ports for word in ("--port", port)]
    switch = hub.start(netsum_command("switch", "allreduce.p4", "-D", "LANES=256", *words, "--quiet"))
    controller = hub.start(netsum_command("controller", "--listen", CONTROLLER, *words))
    try:
        until(lambda: hub.answers(*netsum_command("status", CONTROLLER)))
        yield
    finally:
        for process in (controller, switch):
            process.terminate()
            process.communicate()


def check_all_is_free(hub: Machine) -> None:
    """No job, slot or port is in use; ports of killed processes are not after 2 s."""

    def status() -> Any:
        return json.loads(hub.run(*netsum_command("status", CONTROLLER, "--json")))

    until(lambda: not status()["jobs"] and not any(port["pid"] for port in status()["ports"]))
    assert status()["slots_free"] == status()["slots"]


@pytest.mark.slow
def test_a_lost_machine_is_replaced_by_another(tmp_path):
    ports = [f"{number}=udp:hub:{5000 + number}" for number in range(1, RANKS + 1)]
    with machines(["hub", "node0", "node1", "node2"], tmp_path) as (hub, *nodes):
        with aggregation(hub, ports), training(tmp_path, CONTROLLER, RENDEZVOUS, (7, 12)) as job:
            job.start_agent(nodes[0])
            lost = job.start_agent(nodes[1])
            os.kill(job.waiting_in(7)[-1], signal.SIGKILL)
            ranks = job.waiting_in(12)
            nodes[1].unplug()  # nobody's connection ends
            for process in (*ranks, lost.pid):
                os.kill(process, signal.SIGKILL)
            job.start_agent(nodes[2])
            check_result(job, job.finish(), {0: 1, 5: 1, 10: 1})
            check_all_is_free(hub)
        assert [machine.shared_memory() for machine in (hub, *nodes)] == [[]] * 4


def test_ranks_beside_the_switch_share_memory_with_it_and_those_elsewhere_do_not(tmp_path):
    ports = ["1=shm:a", "2=shm:b", "3=udp:hub:5003", "4=udp:hub:5004"]
    with machines(["hub", "node0"], tmp_path) as network:
        with aggregation(network[0], ports):
            ranks = []
            for rank in range(RANKS):
                variables = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "MASTER_ADDR": "hub", "MASTER_PORT": "29500"}
                variables |= {"NETSUM_CONTROLLER": CONTROLLER, "OMP_NUM_THREADS": "1"}
                ranks.append(network[rank % 2].start([sys.executable, str(SCRIPTS / "messages.py")], variables))
            try:
                for process in ranks:
                    said = process.communicate(timeout=PATIENCE_S)[0]
                    assert process.returncode == 0, said
            finally:
                for process in ranks:
                    process.kill()
            check_all_is_free(network[0])
        assert [machine.shared_memory() for machine in network] == [[], []]
