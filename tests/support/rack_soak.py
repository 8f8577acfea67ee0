"""Two tenants train on one rack server while their workers are killed and frames are lost; the weights must not know.

    python -m tests.support.rack_soak --steps 10000 --kills 20

First both tenants train undisturbed, then, on another server, disturbed: every so often a rank is killed with SIGKILL
and its job started again, which goes on after the service's last whole step. The final weights must be the same, bit
for bit, and the server's memory must not grow. Everything is a process of its own, on shared memory, with loss on every
port.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "net" / "torch_scripts" / "rack_training.py"
RANKS = 2
TENANTS = ("red", "blue")
READY_S = 300.0
GROWTH = 1.1
"""The server's memory at the end over that in the middle of the run."""
WEIGHTS = re.compile(r"rank (\d+) has weights ([0-9a-f]{8}) after step (\d+)")
STEP = re.compile(r"rank 0 step (\d+)")


@dataclass(slots=True)
class Run:
    """One run of both tenants on a server of its own."""

    steps: int
    loss: float
    kills: int
    seed: int
    server: int = 0
    memory_bytes: list[int] = field(default_factory=list)

    @property
    def ports(self) -> list[str]:
        names = [f"soak-{secrets.token_hex(4)}-{number}" for number in range(1, 1 + RANKS * len(TENANTS))]
        return [f"{n}=shm:{name}?loss={self.loss}&seed={self.seed + n}" for n, name in enumerate(names, 1)]


def command(*words: str) -> list[str]:
    """A netsum command of this installation."""
    return [sys.executable, "-m", "hostagent.cli.main", *words]


@contextmanager
def service(words: list[str]) -> Iterator[tuple[int, dict[str, object]]]:
    """A process that says on its first line that it is ready: its id, and the line."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, f"{words[3:5]} ended with {process.wait()}"
            yield process.pid, json.loads(line)
        finally:
            process.terminate()


@dataclass(slots=True)
class Tenant:
    """One tenant's job, started again whenever it ends early."""

    name: str
    controller: str
    steps: int
    log: IO[str]
    process: subprocess.Popen[bytes] | None = None
    restarts: int = 0

    def start(self) -> None:
        words = ("run", "-n", str(RANKS), "--controller", self.controller, str(SCRIPT))
        options = ("--steps", str(self.steps), "--service", f"{self.name}:{self.name}-nonce", "--rejoins", "0")
        self.process = subprocess.Popen(command(*words, *options), stdout=self.log, stderr=subprocess.STDOUT, cwd=ROOT)

    def ranks(self) -> list[int]:
        """Process ids of the ranks: the descendants of ours that run the script."""
        assert self.process is not None
        found, parents = [], [self.process.pid]
        while parents:
            parent = parents.pop()
            children = Path(f"/proc/{parent}/task/{parent}/children")
            for child in map(int, children.read_text().split()) if children.exists() else ():
                parents.append(child)
                if (Path("/proc") / str(child) / "cmdline").read_bytes().count(SCRIPT.name.encode()):
                    found.append(child)
        return found

    def text(self) -> str:
        return Path(self.log.name).read_text()

    @property
    def step(self) -> int:
        return max((int(number) for number in STEP.findall(self.text())), default=0)

    @property
    def weights(self) -> set[str]:
        return {crc for _, crc, step in WEIGHTS.findall(self.text()) if int(step) == self.steps}


def resident_bytes(pid: int) -> int:
    """Memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def play(run: Run, folder: Path) -> dict[str, set[str]]:
    """Both tenants to their end; the checksums of each one's weights."""
    ports = [word for port in run.ports for word in ("--port", port)]
    server = command("server", *ports, "--lanes", "256", "--listen", "127.0.0.1:0", "--quiet", "--die-with-parent")
    with service(server) as (run.server, ready):
        address = f"netsum://{ready['service']}"
        with service(command("controller", "--aggregator", address, *ports, "--die-with-parent")) as (_, line):
            tenants = []
            for name in TENANTS:
                log = (folder / f"{name}-{run.kills}.log").open("w")
                tenants.append(Tenant(name, str(line["controller"]), run.steps, log))
            watch(run, tenants)
    return {tenant.name: tenant.weights for tenant in tenants}


def watch(run: Run, tenants: list[Tenant]) -> None:
    """Start, kill and start again until all have trained to their end."""
    chance = random.Random(run.seed)
    kill_at = sorted(chance.randrange(run.steps // 20, run.steps) for _ in range(run.kills))
    for tenant in tenants:
        tenant.start()
    while running := [tenant for tenant in tenants if not tenant.weights]:
        time.sleep(0.5)
        run.memory_bytes.append(resident_bytes(run.server))
        for tenant in running:
            assert tenant.process is not None
            if tenant.process.poll() not in (None, 0):
                tenant.restarts += 1
                assert tenant.restarts <= run.kills + 5, f"{tenant.name} ends early again and again: {tenant.log.name}"
                tenant.start()
        if kill_at and max(tenant.step for tenant in running) >= kill_at[0]:
            kill_at.pop(0)
            if ranks := chance.choice(running).ranks():
                victim = chance.choice(ranks)
                Path(f"/proc/{victim}").exists() and subprocess.run(["kill", f"-{int(signal.SIGKILL)}", str(victim)])
    for tenant in tenants:
        assert tenant.process is not None
        tenant.process.wait()


def main() -> int:
    """The exit status."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=10_000)
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--loss", type=float, default=0.01)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--folder", type=Path, default=Path("soak-rack"))
    given = options.parse_args()
    given.folder.mkdir(exist_ok=True)
    weights, disturbed = [], Run(given.steps, given.loss, given.kills, given.seed)
    for run in (Run(given.steps, given.loss, 0, given.seed), disturbed):
        started = time.monotonic()
        weights.append(play(run, given.folder))
        print(
            f"{run.steps} steps with {run.kills} kills: {time.monotonic() - started:.0f} s, {weights[-1]}", flush=True
        )
    memory = disturbed.memory_bytes
    growth = memory[-1] / memory[len(memory) // 2]
    print(f"memory of the server: {memory[-1] / 1e6:.0f} MB, {growth:.2f} times that in the middle of the run")
    same = all(len(weights[1][name]) == 1 and weights[0][name] == weights[1][name] for name in TENANTS)
    print("final weights are the undisturbed run's" if same else "FINAL WEIGHTS DIFFER", flush=True)
    return 0 if same and growth < GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
