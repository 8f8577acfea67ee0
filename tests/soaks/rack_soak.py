"""Two tenants train on one rack server while frames are lost, workers killed and the server started again.

    python -m tests.soaks.rack_soak --steps 10000 --kills 12 --restarts 1 --seed 1

First both tenants train undisturbed, then, on another server, disturbed: every so often a rank is killed with SIGKILL
and its job started again; and the server is killed with SIGKILL and started again from its checkpoints; its ranks
join again. All go on after the last whole step that the server names. The final weights must be the same, bit for bit,
and memory must not grow. Every part is a separate process, on shared memory, with loss on every port.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "net" / "torch_scripts" / "rack_training.py"
RANKS, LANES = 2, 256
HIDDEN = {"red": 32, "blue": 40}
"""Of the tenants' models, which differ."""
TENANTS = tuple(HIDDEN)
LOOK_S = 0.5
GROWTH = 1.05
"""Of a process's memory: the median of the last quarter of its life over that of the second."""
FEW_LOOKS = 40
"""A life with fewer says nothing of growth."""
WEIGHTS = re.compile(r"rank (\d+) has weights ([0-9a-f]{8}) after step (\d+)")
STEP = re.compile(r"rank 0 step (\d+)")
REJOINED = re.compile(r"rank \d+ joins again after step (\d+)")
BEGUN = re.compile(r"rank \d+ begins after step (\d+)")


def command(*words: str) -> list[str]:
    """A netsum command of this installation."""
    return [sys.executable, "-m", "hostagent.cli.main", *words]


def resident_bytes(pid: int) -> int:
    """Memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


@dataclass(slots=True)
class Process:
    """A part of the network: started, looked at, started again. Says on its first line that it is ready."""

    title: str
    words: list[str]
    log: Path
    process: subprocess.Popen[str] | None = None
    memory: list[int] = field(default_factory=list)
    """Of the life that it has now."""

    def start(self) -> dict[str, object]:
        self.memory = []
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"{self.title} ended with {self.process.wait()}: see {self.log}"
        message: dict[str, object] = json.loads(line)
        return message

    def look(self) -> None:
        assert self.process is not None
        assert self.process.poll() is None, f"{self.title} ended with {self.process.returncode}: see {self.log}"
        self.memory.append(resident_bytes(self.process.pid))

    def end(self, number: int = signal.SIGTERM) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait()

    @property
    def growth(self) -> float:
        """1 is flat."""
        quarter = len(self.memory) // 4
        if len(self.memory) < FEW_LOOKS:
            return 1.0
        return statistics.median(self.memory[-quarter:]) / statistics.median(self.memory[quarter : 2 * quarter])


@dataclass(slots=True)
class Tenant:
    """One tenant's job, started again whenever it ends early."""

    name: str
    controller: str
    steps: int
    log: IO[str]
    process: subprocess.Popen[bytes] | None = None
    restarts: int = 0
    kill_at: list[int] = field(default_factory=list)
    """Steps from which on a rank is to be killed."""
    killed_at: int = -1
    kills: int = 0

    def start(self) -> None:
        words = ("run", "-n", str(RANKS), "--controller", self.controller, str(SCRIPT))
        shape = ("--steps", str(self.steps), "--hidden", str(HIDDEN[self.name]))
        options = (*shape, "--service", f"{self.name}:{self.name}-nonce", "--rejoins", "3")
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
                words = Path("/proc") / str(child) / "cmdline"
                if words.exists() and SCRIPT.name.encode() in words.read_bytes():
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


@dataclass(slots=True)
class Soak:
    """One run of both tenants on a separate network."""

    steps: int
    loss: float
    kills: int
    restarts: int
    seed: int
    folder: Path
    title: str
    server: Process = field(init=False)
    controller: Process = field(init=False)
    tenants: list[Tenant] = field(init=False)

    def _build(self) -> None:
        suffix = f"?loss={self.loss}&seed=" if self.loss else ""
        names = [f"soak-{secrets.token_hex(4)}-{number}" for number in range(1, 1 + RANKS * len(TENANTS))]
        specs = [f"{n}=shm:{name}{suffix}{self.seed + n if suffix else ''}" for n, name in enumerate(names, 1)]
        ports = [word for spec in specs for word in ("--port", spec)]
        state = self.folder / f"{self.title}-state"
        keeps = ("--checkpoint", str(state), "--checkpoint-every", "50", "--no-restore", "--die-with-parent", "--quiet")
        listen = f"127.0.0.1:{_free_port()}"
        words = command("server", *ports, "--lanes", str(LANES), "--listen", listen, *keeps)
        self.server = Process("server", words, self.folder / f"{self.title}-server.log")
        words = command("controller", "--aggregator", f"netsum://{listen}", *ports, "--die-with-parent")
        self.controller = Process("controller", words, self.folder / f"{self.title}-controller.log")

    def play(self) -> dict[str, set[str]]:
        """Both tenants to their end; the checksums of each one's weights."""
        self._build()
        with ExitStack() as stack:
            stack.callback(self.server.end)
            self.server.start()
            self.server.words.remove("--no-restore")
            stack.callback(self.controller.end)
            address = str(self.controller.start()["controller"])
            self.tenants = []
            for name in TENANTS:
                log = stack.enter_context((self.folder / f"{self.title}-{name}.log").open("w"))
                self.tenants.append(Tenant(name, address, self.steps, log))
            try:
                self._watch()
            finally:
                for tenant in self.tenants:
                    if tenant.process is not None and tenant.process.poll() is None:
                        tenant.process.terminate()
                        tenant.process.wait()
        return {tenant.name: tenant.weights for tenant in self.tenants}

    def _watch(self) -> None:
        """Start, disturb and start again until all have trained to their end."""
        chance = random.Random(self.seed)
        first = self.steps // 20
        for number in range(self.kills):
            self.tenants[number % len(self.tenants)].kill_at.append(chance.randrange(first, self.steps))
        restart_at = sorted(chance.randrange(self.steps // 4, self.steps // 2) for _ in range(self.restarts))
        for tenant in self.tenants:
            tenant.start()
        while running := [tenant for tenant in self.tenants if not tenant.weights]:
            time.sleep(LOOK_S)
            self.server.look()
            self.controller.look()
            for tenant in running:
                self._start_again(tenant)
                self._kill_a_rank(chance, tenant)
            step = max(tenant.step for tenant in running)
            if restart_at and step >= restart_at[0]:
                restart_at.pop(0)
                self.server.end(signal.SIGKILL)
                message = self.server.start()["checkpoint"]
                print(f"about step {step} the server was killed, and began again with {message}", flush=True)
        for tenant in self.tenants:
            assert tenant.process is not None
            tenant.process.wait()

    def _start_again(self, tenant: Tenant) -> None:
        assert tenant.process is not None
        if tenant.process.poll() in (None, 0):
            return
        tenant.restarts += 1
        limit = self.kills + 5
        assert tenant.restarts <= limit, f"{tenant.name} ends early again and again: see {tenant.log.name}"
        tenant.start()

    def _kill_a_rank(self, chance: random.Random, tenant: Tenant) -> None:
        """If one is due, and the job has got on since the last."""
        step = tenant.step
        if not tenant.kill_at or step < min(tenant.kill_at) or step <= tenant.killed_at:
            return
        if ranks := tenant.ranks():
            tenant.kill_at.remove(min(tenant.kill_at))
            tenant.killed_at = step
            tenant.kills += 1
            print(f"about step {step} of {tenant.name} a rank is killed", flush=True)
            with suppress(ProcessLookupError):
                os.kill(chance.choice(ranks), signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> int:
    """The exit status."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=10_000)
    options.add_argument("--kills", type=int, default=12)
    options.add_argument("--restarts", type=int, default=1, help="of the server")
    options.add_argument("--loss", type=float, default=0.01)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--folder", type=Path, default=Path("build/soak-rack"))
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for old in given.folder.glob("*.log"):
        old.unlink()
    undisturbed = Soak(given.steps, 0.0, 0, 0, given.seed, given.folder, "undisturbed")
    disturbed = Soak(given.steps, given.loss, given.kills, given.restarts, given.seed, given.folder, "disturbed")
    weights = []
    for soak in (undisturbed, disturbed):
        started = time.monotonic()
        weights.append(soak.play())
        took = time.monotonic() - started
        print(f"{soak.title}: {given.steps} steps of two tenants in {took:.0f} s, {weights[-1]}", flush=True)
    flat = True
    for process in (disturbed.server, disturbed.controller):
        flat = flat and process.growth < GROWTH
        held = process.memory[-1] / 1e6
        print(f"memory of the {process.title}: {held:.0f} MB, {process.growth:.3f} times that of its second quarter")
    for tenant in disturbed.tenants:
        text = tenant.text()
        begun, rejoined = BEGUN.findall(text), REJOINED.findall(text)
        print(f"{tenant.name}: {tenant.kills} kills; began after steps {begun}, joined again after {rejoined}")
    same = all(len(weights[1][name]) == 1 and weights[0][name] == weights[1][name] for name in TENANTS)
    print("final weights are the undisturbed run's" if same else "FINAL WEIGHTS DIFFER", flush=True)
    return 0 if same and flat else 1


if __name__ == "__main__":
    sys.exit(main())
