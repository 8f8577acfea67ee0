"""The operations of ``netsum bench collectives``, on the ranks' side. A size is that of a rank's largest tensor."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist

LEAST_CALLS, MOST_CALLS = 3, 300
LONGEST_S = 0.15
"""Of the calls of one size together, by the first call after a warm-up."""


class Tensors:
    """What a call works on, allocated before it is timed."""

    def __init__(self, dtype: torch.dtype, size_bytes: int) -> None:
        ranks = dist.get_world_size()
        each = max(1, size_bytes // dtype.itemsize // ranks)
        self.whole = torch.ones(each * ranks, dtype=dtype)
        self.other = torch.ones_like(self.whole)
        self.part = torch.ones(each, dtype=dtype)
        self.parts = list(self.whole.chunk(ranks)) if dist.get_rank() == 0 else None
        """By rank; of the root of gather and scatter alone."""


def _send_recv(tensors: Tensors) -> None:
    """To and fro between neighbours: two messages of that size."""
    peer = dist.get_rank() ^ 1
    if peer >= dist.get_world_size():
        return
    if dist.get_rank() < peer:
        dist.send(tensors.whole, peer)
        dist.recv(tensors.whole, peer)
    else:
        dist.recv(tensors.whole, peer)
        dist.send(tensors.whole, peer)


CALLS: dict[str, Callable[[Tensors], object]] = {
    "all_reduce": lambda tensors: dist.all_reduce(tensors.whole),
    "reduce": lambda tensors: dist.reduce(tensors.whole, 0),
    "broadcast": lambda tensors: dist.broadcast(tensors.whole, 0),
    "all_gather": lambda tensors: dist.all_gather_into_tensor(tensors.whole, tensors.part),
    "reduce_scatter": lambda tensors: dist.reduce_scatter_tensor(tensors.part, tensors.whole),
    "all_to_all": lambda tensors: dist.all_to_all_single(tensors.other, tensors.whole),
    "gather": lambda tensors: dist.gather(tensors.part, tensors.parts),
    "scatter": lambda tensors: dist.scatter(tensors.part, tensors.parts),
    "send_recv": _send_recv,
}


def measure_collectives(
    operations: Sequence[str], sizes_bytes: Sequence[int], dtypes: Sequence[str]
) -> dict[str, float | None]:
    """Median seconds of a call by "operation dtype size"; None where the backend refuses."""
    results: dict[str, float | None] = {}
    for operation in operations:
        for dtype in dtypes:
            for size in sizes_bytes:
                results[f"{operation} {dtype} {size}"] = _median_s(CALLS[operation], getattr(torch, dtype), size)
    return results


def _median_s(call: Callable[[Tensors], object], dtype: torch.dtype, size_bytes: int) -> float | None:
    tensors = Tensors(dtype, size_bytes)
    try:
        _once_s(call, tensors)
    except (RuntimeError, ValueError):  # of an operation or type that this backend lacks, on all ranks alike
        return None
    first = torch.tensor([_once_s(call, tensors)], dtype=torch.float32)
    dist.all_reduce(first, dist.ReduceOp.MAX)  # all ranks make the same number of calls
    calls = min(MOST_CALLS, max(LEAST_CALLS, int(LONGEST_S / first.item())))
    dist.barrier()
    return statistics.median(_once_s(call, tensors) for _ in range(calls))


def _once_s(call: Callable[[Tensors], object], tensors: Tensors) -> float:
    tensors.whole.fill_(1.0)
    started = time.perf_counter()
    call(tensors)
    return time.perf_counter() - started
