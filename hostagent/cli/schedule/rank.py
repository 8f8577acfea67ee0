"""A rank of ``netsum schedule run``: runs the schedule of a file on random int32, checks every sum, and compares the
bytes at the switch's ports with those of the schedule.

    python -m hostagent.cli.schedule.rank schedule.json LANES SEED

A first run, on other data, is not counted: in it all ranks find each other.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from emulator.network.schedule.files import read_schedule
from emulator.network.schedule.schedule import Schedule
from hostagent.collectives.execute.executor import Executor
from hostagent.collectives.execute.port_bytes import expected_bytes
from hostagent.launch import live_view
from hostagent.launch.terminal import print_table, wide_console
from hostagent.protocol.messages.frames import ACKNOWLEDGEMENT_FRAME_BYTES

PATIENCE_S = 2.0
"""Until counters stand still."""
STILL_S = 0.05
"""Longer than an acknowledgement is delayed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of a run, at rank 0."""

    elapsed_s: float
    is_wrong: bool
    """Some rank holds a wrong sum."""
    expected: list[tuple[int, int]]
    """Bytes (up, down) at each rank's port."""
    measured: list[tuple[int, int]]
    repeated: int
    """Frames that ranks have sent again."""


def main(file: str, lanes: int, seed: int) -> int:
    schedule = read_schedule(file)
    dist.init_process_group("netsum")
    beside = dist.new_group(backend="gloo")
    executor = Executor(schedule, calls={call: lambda held: None for call in schedule.calls})
    run(executor, seed)
    outcome = measure(executor, lanes, seed + 1, beside)
    if dist.get_rank() == 0:
        print_run(schedule, outcome)
    dist.destroy_process_group()
    return int(outcome.is_wrong)


def measure(executor: Executor, lanes: int, seed: int, beside: dist.ProcessGroup) -> Outcome:
    """All ranks call it; ``beside``: a group of them that does not use the switch."""
    before = settled(executor, beside)
    dist.barrier(group=beside)
    elapsed_s, wrong = run(executor, seed)
    dist.barrier(group=beside)
    after = settled(executor, beside)
    if wrong:
        print(f"rank {executor.rank}: wrong sums in chunks {wrong[:8]}", file=sys.stderr)
    is_wrong = torch.tensor([int(bool(wrong))])
    dist.all_reduce(is_wrong, group=beside)
    measured = [(now["up"] - then["up"], now["down"] - then["down"]) for then, now in zip(before, after, strict=True)]
    return Outcome(
        elapsed_s,
        bool(is_wrong[0]),
        list(zip(*expected_bytes(executor.schedule, lanes), strict=True)),
        [measured[rank] for rank in executor.order],
        sum(now["repeated"] - then["repeated"] for then, now in zip(before, after, strict=True)),
    )


def run(executor: Executor, seed: int) -> tuple[float, list[int]]:
    """Seconds at this rank, and the chunks of which it is a destination and does not hold all contributions."""
    schedule, rank = executor.schedule, executor.rank
    parts = [part for part in schedule.chunks for _ in range(part.count)]
    held = {
        chunk: contribution(schedule, chunk, rank, seed) for chunk, part in enumerate(parts) if rank in part.sources
    }
    begin_s = time.monotonic()
    executor.run(held)
    elapsed_s = time.monotonic() - begin_s
    wrong = []
    for chunk, part in enumerate(parts):
        if rank in part.destinations:
            total = torch.stack([contribution(schedule, chunk, source, seed) for source in part.sources]).sum(0)
            if chunk not in held or not torch.equal(held[chunk], total.to(torch.int32)):
                wrong.append(chunk)
    return elapsed_s, wrong


def contribution(schedule: Schedule, chunk: int, rank: int, seed: int) -> Tensor:
    """Of a rank to a chunk: int32, the same wherever it is made."""
    generator = torch.Generator().manual_seed((seed << 40) + (chunk << 12) + rank)
    count = int(schedule.chunk_bytes[chunk]) // 4
    return torch.randint(-(1 << 20), 1 << 20, (count,), dtype=torch.int32, generator=generator)


def settled(executor: Executor, beside: dist.ProcessGroup) -> list[dict[str, int]]:
    """`counted`, when no frames are on their way any more."""
    end_s = time.monotonic() + PATIENCE_S
    now = counted(executor, beside)
    while True:
        time.sleep(STILL_S)
        before, now = now, counted(executor, beside)
        done = torch.tensor([int(now == before or time.monotonic() > end_s)])
        dist.broadcast(done, 0, group=beside)
        if done[0]:
            return now


def counted(executor: Executor, beside: dist.ProcessGroup) -> list[dict[str, int]]:
    """Of each rank: bytes at its port as the switch counts them, acknowledgements apart, and frames it has repeated.

    Only rank 0 asks the switch: others get no bytes.
    """
    statistics: Counter[str] = Counter()
    for group in (dist.group.WORLD, *executor.groups):
        statistics.update(group._channel.statistics())  # type: ignore[union-attr]
    own = {name: statistics[f"message/acknowledgements_{name}"] for name in ("sent", "received")}
    own["repeated"] = statistics["retransmissions_sent"] + statistics["message/retransmissions_sent"]
    ranks: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, own, group=beside)
    ports: dict[int, dict[str, int]] = {}
    if dist.get_rank() == 0:
        view = live_view.take(os.environ["NETSUM_CONTROLLER"])
        by_number = {port["number"]: port for switch in view["switches"] for port in switch["ports"]}
        everybody = max(view["jobs"], key=lambda job: len(job["ranks"]))  # others are groups of some ranks
        ports = {rank["rank"]: by_number[rank["port"]] for rank in everybody["ranks"]}
    for rank, counts in enumerate(ranks):
        port = ports.get(rank, {"bytes_in": 0, "bytes_out": 0})
        counts["up"] = port["bytes_in"] - ACKNOWLEDGEMENT_FRAME_BYTES * counts["sent"]
        counts["down"] = port["bytes_out"] - ACKNOWLEDGEMENT_FRAME_BYTES * counts["received"]
    return ranks


def print_run(schedule: Schedule, outcome: Outcome) -> None:
    sums = "WRONG SUMS" if outcome.is_wrong else "all sums right"
    console = wide_console()
    console.print(f"{schedule.name}: {len(schedule)} tasks, {sums}, {outcome.elapsed_s * 1e3:.1f} ms", highlight=False)
    both = zip(outcome.expected, outcome.measured, strict=True)
    rows = [
        (str(rank), *(f"{number:,}" for number in (wanted[0], found[0], wanted[1], found[1])))
        for rank, (wanted, found) in enumerate(both)
    ]
    headings = ("port of rank", ">bytes up, schedule", ">measured", ">bytes down, schedule", ">measured")
    print_table(headings, rows, console=console)
    more = sum(found[0] - wanted[0] for wanted, found in zip(outcome.expected, outcome.measured, strict=True))
    equal = "equal" if outcome.expected == outcome.measured else "NOT EQUAL"
    text = f"{more:,} bytes more, of {outcome.repeated} frames that were sent again" if outcome.repeated else equal
    console.print(f"measured bytes: {text}", highlight=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
