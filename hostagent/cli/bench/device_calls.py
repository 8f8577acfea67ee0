"""The ranks' side of ``netsum bench cuda``: calls on tensors of a GPU. All ranks of a machine share its first GPU where
it has fewer than ranks."""

from __future__ import annotations

import functools
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from hostagent import Options

WARM = 3
WIDTH, LAYERS, BATCH = 1792, 8, 64
"""Of the model: 25.7 million parameters, 103 MB of gradients in DDP's buckets of 25 MB."""


def measure_device(packed: Options | None, size_bytes: int, repeats: int) -> dict[str, Any]:
    """Median seconds from a call to the result on the GPU: of an all_reduce by type, also of bfloat16 in a group with
    the options ``packed``, of a DDP step, and of the step without communication."""
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    torch.cuda.set_device(device)
    results: dict[str, Any] = {"device": torch.cuda.get_device_name(device)}
    for dtype in (torch.float32, torch.bfloat16, torch.int32):
        tensor = torch.ones(size_bytes // dtype.itemsize, dtype=dtype, device=device)
        results[str(dtype).removeprefix("torch.")] = _median_s(functools.partial(dist.all_reduce, tensor), repeats)
    group = dist.new_group(pg_options=packed)
    tensor = torch.ones(size_bytes // torch.bfloat16.itemsize, dtype=torch.bfloat16, device=device)
    results["packed"] = _median_s(functools.partial(dist.all_reduce, tensor, group=group), repeats)
    torch.manual_seed(0)
    layers = [each for _ in range(LAYERS) for each in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU())]
    model = DistributedDataParallel(torch.nn.Sequential(*layers).to(device))
    given = torch.randn(BATCH, WIDTH, device=device)

    def step() -> None:
        model.zero_grad()
        model(given).square().mean().backward()

    results["step"] = _median_s(step, repeats)
    with model.no_sync():
        results["step_alone"] = _median_s(step, repeats)
    return results


def _median_s(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(WARM + repeats):
        dist.barrier()
        torch.cuda.synchronize()
        started = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return statistics.median(times[WARM:])
