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

Call = Callable[[torch.Tensor, list[torch.Tensor]], object]


def _send_recv(tensor: torch.Tensor, _: list[torch.Tensor]) -> None:
    """To and fro between neighbours: two messages of that size."""
    peer = dist.get_rank() ^ 1
    if peer >= dist.get_world_size():
        return
    if dist.get_rank() < peer:
        dist.send(tensor, peer)
        dist.recv(tensor, peer)
    else:
        dist.recv(tensor, peer)
        dist.send(tensor, peer)


def _gather(tensor: torch.Tensor, parts: list[torch.Tensor]) -> None:
    dist.gather(parts[0].clone(), parts if dist.get_rank() == 0 else None)


def _scatter(tensor: torch.Tensor, parts: list[torch.Tensor]) -> None:
    dist.scatter(torch.empty_like(parts[0]), parts if dist.get_rank() == 0 else None)


CALLS: dict[str, Call] = {
    "all_reduce": lambda tensor, parts: dist.all_reduce(tensor),
    "reduce": lambda tensor, parts: dist.reduce(tensor, 0),
    "broadcast": lambda tensor, parts: dist.broadcast(tensor, 0),
    "all_gather": lambda tensor, parts: dist.all_gather_into_tensor(tensor, parts[0].clone()),
    "reduce_scatter": lambda tensor, parts: dist.reduce_scatter_tensor(torch.empty_like(parts[0]), tensor),
    "all_to_all": lambda tensor, parts: dist.all_to_all_single(torch.empty_like(tensor), tensor),
    "gather": _gather,
    "scatter": _scatter,
    "send_recv": _send_recv,
}
"""(the largest tensor, its equal parts by rank)"""


def measure_collectives(
    backend: str, operations: Sequence[str], sizes_bytes: Sequence[int], dtypes: Sequence[str]
) -> dict[str, float | None]:
    """Median seconds of a call by "operation dtype size"; None where the backend refuses. ``backend``: its name."""
    del backend
    results: dict[str, float | None] = {}
    for operation in operations:
        for dtype in dtypes:
            for size in sizes_bytes:
                results[f"{operation} {dtype} {size}"] = _median_s(CALLS[operation], getattr(torch, dtype), size)
    return results


def _median_s(call: Call, dtype: torch.dtype, size_bytes: int) -> float | None:
    ranks = dist.get_world_size()
    each = max(1, size_bytes // dtype.itemsize // ranks)
    tensor = torch.ones(each * ranks, dtype=dtype)
    parts = list(tensor.chunk(ranks))
    try:
        _once_s(call, tensor, parts)
    except (RuntimeError, ValueError):  # of an operation or type that this backend lacks, on all ranks alike
        return None
    first = torch.tensor([_once_s(call, tensor, parts)], dtype=torch.float32)
    dist.all_reduce(first, dist.ReduceOp.MAX)  # all ranks make the same number of calls
    calls = min(MOST_CALLS, max(LEAST_CALLS, int(LONGEST_S / first.item())))
    dist.barrier()
    return statistics.median(_once_s(call, tensor, parts) for _ in range(calls))


def _once_s(call: Call, tensor: torch.Tensor, parts: list[torch.Tensor]) -> float:
    tensor.fill_(1.0)
    started = time.perf_counter()
    call(tensor, parts)
    return time.perf_counter() - started
