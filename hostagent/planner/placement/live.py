"""A probe of live ranks: round trips of messages between the ranks of a process group, whatever its backend.

    torchrun --nproc-per-node 1 ... -m hostagent.planner.placement.live costs.json 1048576 gloo

Each rank is in one probe at a time: it goes through the rounds of the tournament, and waits for its partner in each.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from emulator.network.schedule.columns import Kind
from emulator.network.schedule.schedule import Schedule
from hostagent.planner.placement.costs import Costs, PlacementError, write_costs
from hostagent.planner.placement.model import Model
from hostagent.planner.placement.probe import PROBE_BYTES, REPEATS, costs_of, robust, tournament
from hostagent.planner.placement.solve import solve


def probed_order(schedule: Schedule, group: dist.ProcessGroup) -> list[int]:
    """The rank of the group for each rank of the schedule: the given one unless `depends_on_order`. The group is probed
    once; all its ranks call this, the first one solves, and all get the same."""
    order = torch.arange(schedule.ranks)
    if depends_on_order(schedule):
        if group not in _COSTS:
            _COSTS[group] = probe_group(PROBED_BYTES, PROBED_REPEATS, group)
        if dist.get_rank(group) == 0:
            order.copy_(torch.from_numpy(solve(Model(schedule, _COSTS[group])).order))
        dist.broadcast(order, group=group, group_src=0)
    return [int(rank) for rank in order]


def depends_on_order(schedule: Schedule) -> bool:
    """Only in time: an allreduce of messages, in which all ranks have and get the same."""
    everybody = set(range(schedule.ranks))
    return bool(np.isin(schedule.columns.kind, (Kind.SEND, Kind.REDUCE)).all()) and all(
        {*part.sources} == everybody == {*part.destinations} for part in schedule.chunks
    )


_COSTS: WeakKeyDictionary[dist.ProcessGroup, Costs] = WeakKeyDictionary()
PROBED_BYTES, PROBED_REPEATS = 1 << 16, 5
"""For an order while a job waits."""


def probe_group(large_bytes: int = 0, repeats: int = REPEATS, group: dist.ProcessGroup | None = None) -> Costs:
    """Costs between the ranks of the group (default: of all ranks); all of them call it, and all get the same.

    ``large_bytes``: of messages that measure the time of a byte; 0: only latencies are measured. Raises PlacementError,
    and what the group raises where a rank is lost.
    """
    ranks, rank = dist.get_world_size(group), dist.get_rank(group)
    sizes = [PROBE_BYTES, *([large_bytes] if large_bytes else [])]
    own = torch.full((len(sizes), ranks), torch.nan, dtype=torch.float64)
    for pairs in tournament(ranks):
        for pair in pairs:
            if rank in pair:
                for row, size_bytes in enumerate(sizes):
                    message = torch.zeros(size_bytes, dtype=torch.uint8)
                    samples_ns = _round_trips_ns(pair, rank, message, repeats, group)
                    if rank == pair[0]:
                        own[row, pair[1]] = robust(samples_ns)
    everybody = [torch.empty_like(own) for _ in range(ranks)]
    dist.all_gather(everybody, own, group=group)
    found = torch.stack(everybody, dim=1).numpy()
    return costs_of(_names(ranks, group), found[0], found[1] if large_bytes else None, large_bytes)


def _round_trips_ns(
    pair: tuple[int, int], rank: int, message: Tensor, repeats: int, group: dist.ProcessGroup | None
) -> np.ndarray:
    """At the first of a pair; the first exchange, in which one waits for the other, does not count."""
    other = pair[0] + pair[1] - rank
    steps: list[Callable[[], object]] = [
        lambda: dist.send(message, group=group, group_dst=other),
        lambda: dist.recv(message, group=group, group_src=other),
    ]
    if rank == pair[1]:
        steps.reverse()
    samples_ns = []
    for _ in range(repeats + 1):
        begin_ns = time.monotonic_ns()
        for step in steps:
            step()
        samples_ns.append(time.monotonic_ns() - begin_ns)
    return np.array(samples_ns[1:], np.float64)


def _names(ranks: int, group: dist.ProcessGroup | None) -> list[str]:
    """Of the hosts; where several ranks are on one, of the ranks."""
    names: list[str] = [""] * ranks
    dist.all_gather_object(names, socket.gethostname(), group=group)
    return names if len(set(names)) == ranks else [f"rank{rank}" for rank in range(ranks)]


def main(file: str, large_bytes: str = "0", backend: str = "netsum") -> int:
    dist.init_process_group(backend)
    try:
        costs = probe_group(int(large_bytes))
        if dist.get_rank() == 0:
            write_costs(costs, file)
    except PlacementError as error:
        print(f"probe: {error}", file=sys.stderr)
        return 1
    finally:
        dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
