"""A rank of ``netsum schedule run``: runs the schedule of a file on random int32, checks every sum, and compares the
bytes at the switch's ports with those of the schedule.

    python -m hostagent.cli.schedule.rank schedule.json LANES SEED [SWITCH=HOST:PORT ...]

With switches and their controllers each switch of the schedule is one of them; else one serves all ranks. A first run,
on other data, is not counted: in it all ranks find each other.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from emulator.network.schedule.files import read_schedule
from emulator.network.schedule.schedule import Schedule
from hostagent.collectives.execute.executor import Executor, ranks_of, tasks_of_switches
from hostagent.collectives.execute.port_bytes import expected_bytes
from hostagent.launch import live_view
from hostagent.launch.terminal import amount, print_table, wide_console
from hostagent.protocol.messages.frames import ACKNOWLEDGEMENT_FRAME_BYTES, DATA_AT
from hostagent.protocol.tree import UP_PORT
from hostagent.torch_backend.options import Options

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
    ports: list[str]
    """Rank of each, and its switch where there are several; then links between the switches of a tree."""
    expected: list[tuple[int, int]]
    """Bytes (up, down) at each port."""
    measured: list[tuple[int, int]]
    """Without acknowledgements, what a rank has sent again, what has come without use, and the headers of fragments
    that a message has more of because its destination had no buffer for data in the envelope."""
    repeated: int
    """Frames that ranks have sent again."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A live switch: what it does, and who counts its bytes."""

    name: str
    """Empty where it is the only one."""
    controller: str
    """HOST:PORT."""
    tasks: list[int]
    ranks: list[int]
    """Of its tasks, ascending: rank i of its job is ``ranks[i]``."""


def main(file: str, lanes: int, seed: int, addresses: Sequence[str]) -> int:
    schedule = read_schedule(file)
    controllers = dict(address.split("=") for address in addresses)
    dist.init_process_group("gloo" if controllers else "netsum")
    beside = dist.new_group(backend="gloo")
    say("the ranks have started")
    groups = {
        switch: {"backend": "netsum", "pg_options": Options(controller=address)}
        for switch, address in controllers.items()
    }
    executor = Executor(schedule, calls={call: lambda held: None for call in schedule.calls}, switches=groups)
    for switch in controllers:
        for group in executor.groups(switch)[:1]:
            dist.barrier(group)  # of all its ranks, also if no task is: each has a port then
    run(executor, seed)
    say("the ranks have found each other; the measured run begins")
    switches = [
        Switch(name, controllers[name], tasks, ranks_of(schedule, tasks))
        for name, tasks in (tasks_of_switches(schedule) if controllers else {}).items()
    ]
    outcome = measure(executor, lanes, seed + 1, beside, switches)
    if dist.get_rank() == 0:
        print_run(schedule, outcome)
    dist.destroy_process_group()
    return int(outcome.is_wrong)


def say(text: str) -> None:
    """Progress, by rank 0."""
    if dist.get_rank() == 0:
        print(f"netsum schedule run: {text}", file=sys.stderr, flush=True)


def measure(
    executor: Executor, lanes: int, seed: int, beside: dist.ProcessGroup, switches: Sequence[Switch] = ()
) -> Outcome:
    """All ranks call it; ``beside``: a group of them that uses no switch; ``switches``: none where one is for all."""
    schedule = executor.schedule
    if not switches:
        everything = list(range(schedule.ranks))
        switches = [Switch("", os.environ["NETSUM_CONTROLLER"], list(range(len(schedule))), everything)]
    before = settled(executor, beside, switches)
    dist.barrier(group=beside)
    elapsed_s, wrong = run(executor, seed)
    dist.barrier(group=beside)
    after = settled(executor, beside, switches)
    if wrong:
        print(f"rank {executor.rank}: wrong sums in chunks {wrong[:8]}", file=sys.stderr)
    is_wrong = torch.tensor([int(bool(wrong))])
    dist.all_reduce(is_wrong, group=beside)
    ports, expected = [], []
    for switch in switches:
        up, down = expected_bytes(schedule, lanes, switch.tasks)
        ports += [f"{rank} at {switch.name}" if switch.name else str(rank) for rank in switch.ranks]
        expected += [(up[place], down[place]) for place in map(executor.order.index, switch.ranks)]
    measured = _differences(before.ports, after.ports)
    repeated = after.repeated - before.repeated
    if not repeated:  # nobody knows which links of a tree a frame has passed that was sent again
        ports += [f"leaf {leaf} to root" for leaf in range(len(after.between))]
        expected += [expected[0]] * len(after.between)  # a leaf sends a sum for all of a frame's contributions
        measured += _differences(before.between, after.between)
    return Outcome(elapsed_s, bool(is_wrong[0]), ports, expected, measured, repeated)


def _differences(before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(now[0] - then[0], now[1] - then[1]) for then, now in zip(before, after, strict=True)]


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


class Counted(NamedTuple):
    """What has been counted so far."""

    ports: list[tuple[int, int]]
    """Bytes (up, down) at each port, of what moves the schedule on, by switch and rank; at rank 0 alone."""
    between: list[tuple[int, int]]
    """The same at the port of each leaf of a tree of switches that leads to the root."""
    repeated: int
    """Frames that ranks have sent again."""


def settled(executor: Executor, beside: dist.ProcessGroup, switches: Sequence[Switch]) -> Counted:
    """`counted`, when no frames are on their way any more."""
    end_s = time.monotonic() + PATIENCE_S
    now = counted(executor, beside, switches)
    while True:
        time.sleep(STILL_S)
        before, now = now, counted(executor, beside, switches)
        done = torch.tensor([int(now == before or time.monotonic() > end_s)])
        dist.broadcast(done, 0, group=beside)
        if done[0]:
            return now


def counted(executor: Executor, beside: dist.ProcessGroup, switches: Sequence[Switch]) -> Counted:
    """Only rank 0 asks the switches. A switch counts what it gets from the wire and what it puts there: of that, each
    rank knows what was an acknowledgement, a repetition, or of no use."""
    own = [_besides(executor, switch) for switch in switches]
    ranks: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, own, group=beside)
    ports, between = [], []
    for number, switch in enumerate(switches if dist.get_rank() == 0 else ()):
        view = live_view.take(switch.controller)
        all_ports = [port for each in view["switches"] for port in each["ports"]]
        between += [(port["bytes_out"], port["bytes_in"]) for port in all_ports if port["number"] == UP_PORT]
        by_number = {port["number"]: port for port in all_ports}
        jobs = [job["ranks"] for job in view["jobs"]]
        largest: list[Any] = max(jobs, key=len, default=[])  # others are groups of some ranks
        port_of = {switch.ranks[each["rank"]]: by_number[each["port"]] for each in largest}
        for rank in switch.ranks:
            port, (up, down, _) = port_of.get(rank, {"bytes_in": 0, "bytes_out": 0}), ranks[rank][number]
            ports.append((port["bytes_in"] - up, port["bytes_out"] - down))
    return Counted(ports, between, sum(repeated for each in ranks for _, _, repeated in each))


def _besides(executor: Executor, switch: Switch) -> tuple[int, int, int]:
    """At this rank's port: bytes (up, down) that the schedule does not have; and frames that were sent again."""
    found: Counter[str] = Counter()
    for group in executor.groups(switch.name):
        if channel := getattr(group, "_channel", None):
            for name, count in channel.statistics().items():
                found[name.removeprefix("message/")] += count
    up, down = (
        ACKNOWLEDGEMENT_FRAME_BYTES * found[f"acknowledgements_{way}"] + DATA_AT * found[f"late_fragments_{way}"]
        for way in ("sent", "received")
    )
    up, down = up + found["retransmitted_bytes"], down + found["unused_bytes"]
    return up, down, found["retransmissions_sent"]


def print_run(schedule: Schedule, outcome: Outcome) -> None:
    sums = "WRONG SUMS" if outcome.is_wrong else "all sums right"
    console = wide_console()
    console.print(
        f"{schedule.name}: {amount(len(schedule), 'task')}, {sums}, {outcome.elapsed_s * 1e3:.1f} ms", highlight=False
    )
    both = zip(outcome.expected, outcome.measured, strict=True)
    rows = [
        (port, *(f"{number:,}" for number in (wanted[0], found[0], wanted[1], found[1])))
        for port, (wanted, found) in zip(outcome.ports, both, strict=True)
    ]
    headings = ("port of rank", ">bytes up, schedule", ">measured", ">bytes down, schedule", ">measured")
    print_table(headings, rows, console=console)
    equal = "equal" if outcome.expected == outcome.measured else "NOT EQUAL"
    again = f", without {outcome.repeated:,} frames that were sent again" if outcome.repeated else ""
    console.print(f"measured bytes: {equal}{again}", highlight=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]))
