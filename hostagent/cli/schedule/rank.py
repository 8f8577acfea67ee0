"""A rank of ``netsum schedule run``: runs the schedule of a file on random int32, checks every sum, and compares the
bytes at the switch's ports with those of the schedule.

    python -m hostagent.cli.schedule.rank schedule.json LANES SEED

A first run, on other data, is not counted: in it all ranks find each other.
"""

from __future__ import annotations

import os
import sys
import time
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
"""Until the last acknowledgements have been counted."""


def main(file: str, lanes: int, seed: int) -> int:
    schedule = read_schedule(file)
    dist.init_process_group("netsum")
    rank, beside = dist.get_rank(), dist.new_group(backend="gloo")
    executor = Executor(schedule, calls={call: lambda held: None for call in schedule.calls})
    run(executor, seed)
    dist.barrier(group=beside)
    before = counted(beside)
    dist.barrier(group=beside)
    begin_s = time.monotonic()
    wrong = run(executor, seed + 1)
    dist.barrier(group=beside)
    elapsed_s = time.monotonic() - begin_s
    expected = expected_bytes(schedule, lanes)
    end_s = time.monotonic() + PATIENCE_S
    while True:
        after = counted(beside)
        rows = differences(before, after)
        done = [rows == list(zip(*expected, strict=True)) or time.monotonic() > end_s]
        dist.broadcast_object_list(done, 0, group=beside)
        if done[0]:
            break
    if wrong:
        print(f"rank {rank}: wrong sums in chunks {wrong[:8]}", file=sys.stderr)
    wrongs: list[Any] = [None] * schedule.ranks
    dist.all_gather_object(wrongs, wrong, group=beside)
    if rank == 0:
        repeated = sum(now["repeated"] - then["repeated"] for then, now in zip(before, after, strict=True))
        print_run(schedule, elapsed_s, any(wrongs), expected, rows, repeated)
    dist.destroy_process_group()
    return 1 if any(wrongs) else 0


def run(executor: Executor, seed: int) -> list[int]:
    """Chunks of which this rank is a destination and does not hold the sum of all contributions."""
    schedule, rank = executor.schedule, executor.rank
    parts = [part for part in schedule.chunks for _ in range(part.count)]
    held = {
        chunk: contribution(schedule, chunk, rank, seed) for chunk, part in enumerate(parts) if rank in part.sources
    }
    executor.run(held)
    wrong = []
    for chunk, part in enumerate(parts):
        if rank in part.destinations:
            total = torch.stack([contribution(schedule, chunk, source, seed) for source in part.sources]).sum(0)
            if chunk not in held or not torch.equal(held[chunk], total.to(torch.int32)):
                wrong.append(chunk)
    return wrong


def contribution(schedule: Schedule, chunk: int, rank: int, seed: int) -> Tensor:
    """Of a rank to a chunk: int32, the same wherever it is made."""
    generator = torch.Generator().manual_seed((seed << 40) + (chunk << 12) + rank)
    count = int(schedule.chunk_bytes[chunk]) // 4
    return torch.randint(-(1 << 20), 1 << 20, (count,), dtype=torch.int32, generator=generator)


def counted(beside: dist.ProcessGroup) -> list[dict[str, int]]:
    """Of each rank: bytes at its port as the switch counts them, acknowledgements apart, and frames it has repeated.

    Only rank 0 asks the switch, and gets the numbers; others get theirs without bytes.
    """
    statistics = dist.group.WORLD._channel.statistics()  # type: ignore[union-attr]
    own = {name: statistics[f"message/acknowledgements_{name}"] for name in ("sent", "received")}
    own["repeated"] = statistics["retransmissions_sent"] + statistics["message/retransmissions_sent"]
    ranks: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, own, group=beside)
    if dist.get_rank() == 0:
        view = live_view.take(os.environ["NETSUM_CONTROLLER"])
        ports = {port["rank"]: port for switch in view["switches"] for port in switch["ports"]}
        for rank, counts in enumerate(ranks):
            if rank in ports:
                counts["up"] = ports[rank]["bytes_in"] - ACKNOWLEDGEMENT_FRAME_BYTES * counts["sent"]
                counts["down"] = ports[rank]["bytes_out"] - ACKNOWLEDGEMENT_FRAME_BYTES * counts["received"]
    return ranks


def differences(before: list[dict[str, int]], after: list[dict[str, int]]) -> list[tuple[int, int]]:
    """(up, down) of each rank."""
    return [
        (now.get("up", 0) - then.get("up", 0), now.get("down", 0) - then.get("down", 0))
        for then, now in zip(before, after, strict=True)
    ]


def print_run(
    schedule: Schedule,
    elapsed_s: float,
    is_wrong: bool,
    expected: tuple[list[int], list[int]],
    measured: list[tuple[int, int]],
    repeated: int,
) -> None:
    sums = "wrong sums" if is_wrong else "all sums right"
    console = wide_console()
    console.print(f"{schedule.name}: {len(schedule)} tasks, {sums}, {elapsed_s * 1e3:.1f} ms", highlight=False)
    rows = [
        (str(rank), f"{up:,}", f"{measured[rank][0]:,}", f"{down:,}", f"{measured[rank][1]:,}")
        for rank, (up, down) in enumerate(zip(*expected, strict=True))
    ]
    headings = ("port of rank", ">bytes up, schedule", ">measured", ">bytes down, schedule", ">measured")
    print_table(headings, rows, console=console)
    equal = measured == list(zip(*expected, strict=True))
    text = "equal" if equal else f"not equal: {repeated} frames were repeated" if repeated else "NOT EQUAL"
    console.print(f"measured bytes: {text}", highlight=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
