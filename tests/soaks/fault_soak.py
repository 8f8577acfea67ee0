"""Sums under random faults, for a long time: live (``--live``), or in virtual time.

    python -m tests.soaks.fault_soak --hours 24
    python -m tests.soaks.fault_soak --live --minutes 30

All sums must be right; at the end every process must have as much memory, and as many descriptors, as early on. In
virtual time one job of three ranks, on links of 2 Mbit/s, sums without a pause while links fail in every way, hosts
are slow, and the switch and the controller restart. Live, ``netsum run`` starts four ranks, a switch and a controller,
and plays such a script.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from emulator.network.faults.files import parse_faults
from emulator.network.topology.builders import star
from emulator.network.topology.plan import HOST_LINK
from hostagent.lab.simulated_job import SimulatedJob
from tests.generators.fault_scripts import FOR_LINKS, FOR_PROCESSES, draw

SCRIPT = Path(__file__).resolve().parents[1] / "net" / "torch_scripts" / "faulty_sums.py"
HOUR_NS = 3_600 * 10**9
SIMULATED_RANKS, LIVE_RANKS = 3, 4
RATE_BPS = 2_000_000
ELEMENTS = (1, 300, 5_000, 40_000)
FAULT_EVERY_S = 10
SAY_EVERY_S = 30.0
LOOK_S = 5.0
PAUSE_S = 0.02
"""Between two live sums: the machine has other work, too."""
GROWTH = 1.05
"""Of a process's memory: the median of the last quarter of its life over that of the second."""
ARENA_BYTES = 1 << 20
"""Python takes memory for its objects in arenas of this size: two more are no leak, but 8 % of a controller."""
QUEUE_FRAMES = 64
"""Limit of a link's queue, in frames. A switch touches a queue's memory when it is that long for the first time:
with the default of 1,000, up to 87 MB long after its start, in which a leak does not show."""
FEW_LOOKS = 20
"""A life with fewer says nothing of growth."""
ANONYMOUS = re.compile(r"^(?:RssAnon|VmSwap):\s+(\d+) kB", re.MULTILINE)
INODE = re.compile(r":\[\d+\]$")
STEPS = re.compile(r"rank (\d+) right after (\d+) sums")


@dataclass(slots=True)
class Life:
    """What one process held, at each look."""

    name: str
    memory_bytes: list[int] = field(default_factory=list)
    """Anonymous memory, in RAM or swapped out."""
    descriptors: list[Counter[str]] = field(default_factory=list)
    """By what they are of."""

    def look(self, pid: int) -> None:
        kilobytes = [int(held) for held in ANONYMOUS.findall(Path(f"/proc/{pid}/status").read_text())]
        if kilobytes:  # none: it has just ended
            self.descriptors.append(open_descriptors(pid))
            self.memory_bytes.append(1024 * sum(kilobytes))

    def problems(self) -> list[str]:
        """Whether it held more at the end than early on."""
        if len(self.memory_bytes) < FEW_LOOKS:
            return []
        series = [
            ("memory", self.memory_bytes, GROWTH, 2 * ARENA_BYTES),
            ("descriptors", [d.total() for d in self.descriptors], 1.0, 0),
        ]
        series += [
            (f"descriptors of {kind}", [counts[kind] for counts in self.descriptors], 1.0, 0)
            for kind in sorted({kind for counts in self.descriptors for kind in counts})
        ]
        found = []
        for what, values, most, besides in series:
            quarter = len(values) // 4
            early, late = (statistics.median(part) for part in (values[quarter : 2 * quarter], values[-quarter:]))
            if late > max(most * early, early + besides):
                found.append(f"{self.name}: {what} grew from {early:,.0f} to {late:,.0f}")
        return found

    def describe(self) -> str:
        held = f"{self.memory_bytes[-1] / 1e6:.0f} MB, {self.descriptors[-1].total()} descriptors"
        return f"{self.name}: {held} after {len(self.memory_bytes)} looks"


def open_descriptors(pid: int) -> Counter[str]:
    """How many a process has of what: pipes, sockets, files of a folder, ..."""
    folder = Path(f"/proc/{pid}/fd")
    targets = []
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):  # closed since
            targets.append(os.readlink(folder / name))
    return Counter(str(Path(target).parent) if target.startswith("/") else INODE.sub("", target) for target in targets)


def conclude(lives: Iterable[Life]) -> int:
    """Print what each process held; the exit status."""
    problems = []
    for life in lives:
        print(life.describe())
        problems += life.problems()
    print("\n".join(problems) or "memory and descriptors are flat", flush=True)
    return int(bool(problems))


def virtual(hours: float, seed: int) -> int:
    """The exit status. A wrong sum, or one that does not end, raises."""
    rng, until_ns = random.Random(seed), round(hours * HOUR_NS)
    topology = star(SIMULATED_RANKS, host_link=replace(HOST_LINK, rate_bps=RATE_BPS))
    last_ms = until_ns // 1_000_000
    script = draw(
        *(rng, SIMULATED_RANKS),
        first_ms=1,
        last_ms=last_ms,
        count=max(1, last_ms // (1000 * FAULT_EVERY_S)),
        longest_ms=5_000,
        kinds=(*FOR_LINKS, *FOR_PROCESSES),
    )
    job = SimulatedJob(topology, faults=parse_faults(script, topology), seed=seed)
    life, sums, retransmissions, said_s = Life("simulation"), 0, 0, time.monotonic()
    begun_s = said_s
    while job.network.now_ns < until_ns:
        call = job.allreduce(rng.choice(ELEMENTS))
        sums, retransmissions = sums + 1, retransmissions + call.retransmissions
        if time.monotonic() - said_s >= SAY_EVERY_S or job.network.now_ns >= until_ns:
            said_s = time.monotonic()
            life.look(os.getpid())
            print(
                f"{job.network.now_ns / HOUR_NS:.2f} hours in {said_s - begun_s:.0f} s: {sums:,} sums are right, "
                f"{len(job.faults.happened):,} changes by faults, {retransmissions:,} frames retransmitted",
                flush=True,
            )
    return conclude([life])


def live(minutes: float, seed: int, folder: Path) -> int:
    """The exit status."""
    seconds = 60 * minutes
    script = draw(
        *(random.Random(seed), LIVE_RANKS),
        first_ms=100,
        last_ms=max(101, round(1000 * seconds) - 10_000),
        count=max(1, round(seconds / FAULT_EVERY_S)),
        longest_ms=3_000,
        kinds=(*FOR_LINKS, *FOR_PROCESSES),
    )
    faults = folder / "faults.yaml"
    faults.write_text(script)
    command = [sys.executable, "-m", "hostagent.cli.main", "run", "-n", str(LIVE_RANKS), "--lanes", "256"]
    command += ["--impair", f"queue={QUEUE_FRAMES}"]
    command += ["--faults", str(faults), str(SCRIPT), str(seconds), "600", str(PAUSE_S)]
    output = folder / "output"
    lives: dict[int, Life] = {}
    with output.open("w") as file:
        run = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        try:
            said_s = begun_s = time.monotonic()
            while run.poll() is None:
                time.sleep(LOOK_S)
                look_at(run.pid, lives)
                if time.monotonic() - said_s >= SAY_EVERY_S:
                    said_s = time.monotonic()
                    changes = output.read_text().count("fault at")
                    print(f"{said_s - begun_s:.0f} s: {changes} changes by faults", flush=True)
        finally:
            if run.poll() is None:
                run.terminate()
                run.wait()
    text = output.read_text()
    right = STEPS.findall(text)
    if run.returncode or len(right) != LIVE_RANKS:
        print(f"seed {seed} failed:\n{text}\n{script}")
        return 1
    print(f"{min(int(sums) for _, sums in right):,} sums are right on {LIVE_RANKS} ranks")
    return conclude(life for life in lives.values() if len(life.memory_bytes) >= FEW_LOOKS)


def look_at(parent: int, lives: dict[int, Life]) -> None:
    """All descendants of a process, and itself."""
    children = defaultdict[int, list[int]](list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                children[int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])].append(int(entry.name))
            except OSError:
                continue
    waiting = [parent]
    while waiting:
        pid = waiting.pop()
        waiting += children[pid]
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            name = next((word for word in words if word in ("run", "switch", "controller")), "")
            name = name or ("rank" if str(SCRIPT) in words else "launcher of the ranks")
            lives.setdefault(pid, Life(f"{name} (process {pid})")).look(pid)
        except OSError:
            continue


def main() -> int:
    """The exit status."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--hours", type=float, default=24.0, help="of virtual time; default 24")
    options.add_argument("--live", action="store_true", help="on processes of this machine")
    options.add_argument("--minutes", type=float, default=30.0, help="of --live; default 30")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    if not given.live:
        return virtual(given.hours, given.seed)
    with tempfile.TemporaryDirectory(prefix="netsum-soak-") as folder:
        return live(given.minutes, given.seed, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
