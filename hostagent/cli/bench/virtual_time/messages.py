"""``netsum bench messages``: schedules simulated message by message, tasks per second of wall time on one core, next to
SimGrid's fair-shared links on the same messages.

Both must take the same virtual time within 2 %. Exclusive links have no peer: their row is next to our fair ones.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emulator.network.messages.simulate import Run, Sharing, events, simulate
from emulator.network.schedule.builder import Builder
from emulator.network.schedule.generators import ring
from emulator.network.schedule.parts import Chunks
from emulator.network.schedule.schedule import Schedule
from emulator.network.topology.builders import leaf_spine, star, tree
from emulator.network.topology.topology import Topology
from hostagent.cli.bench.runner import BenchError, Report, Row

PYTHONS = (sys.executable, "/usr/bin/python3")
"""Of which the first one that has SimGrid runs it."""
AGREEMENT = 0.02
TIMEOUT_S = 300
ROUNDS = 3
CHUNK_BYTES = 40_000


def alltoall(topology: Topology) -> Schedule:
    """Every rank to every other one, all at once."""
    ranks = len(topology.hosts)
    pairs = [(source, end) for source in range(ranks) for end in range(ranks) if source != end]
    sizes = [CHUNK_BYTES * (1 + (3 * source + 5 * end) % 7) for source, end in pairs]
    chunks = [Chunks(1, size, (source,), (end,)) for (source, end), size in zip(pairs, sizes, strict=True)]
    builder = Builder(f"alltoall-{ranks}", topology, chunks)
    for number, (source, end) in enumerate(pairs):
        builder.send(source, end, [number])
    return builder.build()


def measure(large: int = 256) -> Report:
    """``large``: ranks of the ring."""
    schedules = [
        ring(star(large), CHUNK_BYTES * large),
        ring(tree((8, large // 8)), CHUNK_BYTES * large),
        alltoall(star(24)),
        alltoall(leaf_spine(6, 8, 4)),  # all 2,256 messages share links with one another
    ]
    python = next((each for each in PYTHONS if _has_simgrid(each)), None)
    rows = [row for schedule in schedules for row in _rows(schedule, python)]
    remarks = () if python else ("SimGrid is missing: apt install python3-simgrid, or pip install simgrid",)
    title = "schedules message by message, one core: a start and an end of each task, and each link of a message"
    return Report("messages", title, rows, remarks=remarks)


def _rows(schedule: Schedule, python: str | None) -> Sequence[Row]:
    simulate(schedule, Sharing.FAIR)
    simulate(schedule)
    fair_s, fair = _best(schedule, Sharing.FAIR)
    exclusive_s, exclusive = _best(schedule, Sharing.EXCLUSIVE)
    count, name = events(schedule), f"{schedule.name} on {schedule.topology.name}"
    note = f"{len(schedule):,} messages, {fair.elapsed_ns / 1e6:.3f} ms of virtual time"
    row = Row(f"{name}, fair", count / fair_s, "event/s", note=note)
    if python is not None:
        theirs = _simgrid(schedule, python)
        elapsed_ns = max(theirs["finish_s"]) * 1e9
        if abs(fair.elapsed_ns / elapsed_ns - 1) > AGREEMENT:
            raise BenchError(f"{name}: {fair.elapsed_ns} ns of virtual time, in SimGrid {elapsed_ns:.0f} ns")
        off = max(
            abs(own / (other * 1e9) - 1) for own, other in zip(fair.finish_ns.tolist(), theirs["finish_s"], strict=True)
        )
        note += f"; messages end within {off:.3%} of SimGrid's"
        row = Row(row.name, row.value, row.unit, "SimGrid", count / theirs["wall_s"], note, {"largest_difference": off})
    note = f"{exclusive.elapsed_ns / 1e6:.3f} ms of virtual time"
    return row, Row(f"{name}, exclusive", count / exclusive_s, "event/s", "fair", count / fair_s, note)


def _best(schedule: Schedule, sharing: Sharing) -> tuple[float, Run]:
    best_s = float("inf")
    for _ in range(ROUNDS):
        begin_s = time.perf_counter()
        run = simulate(schedule, sharing)
        best_s = min(best_s, time.perf_counter() - begin_s)
    return best_s, run


def _has_simgrid(python: str) -> bool:
    return (
        Path(python).exists() and not subprocess.run([python, "-c", "import simgrid"], capture_output=True).returncode
    )


def _simgrid(schedule: Schedule, python: str) -> dict[str, Any]:
    """See `simgrid_model.play`. Raises BenchError."""
    columns = schedule.columns
    ends = zip(columns.source.tolist(), columns.destination.tolist(), schedule.task_bytes.tolist(), strict=True)
    messages = [
        (*end, columns.route.row(task).tolist(), columns.after.row(task).tolist()) for task, end in enumerate(ends)
    ]
    links = [(link.rate_bps, link.latency_ns / 1e9) for link in schedule.topology.links]
    given = json.dumps({"hosts": schedule.ranks, "links": links, "messages": messages})
    script = Path(__file__).with_name("simgrid_model.py")
    done = subprocess.run([python, str(script)], input=given, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode:
        raise BenchError(f"SimGrid ended with {done.returncode}:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index('{"finish_s"') :])
    return found
