"""The ranks' side of ``netsum bench allreduce``: the same calls on any backend, timed on rank 0, printed as JSON.

Three figures: large tensors back to back (bandwidth), small ones back to back (steady-state latency), and small ones
each right after a barrier, when the other processes have to be woken first.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
import torch.distributed as dist

from hostagent.cli.bench.runner import send_result


def bandwidth(size_bytes: int, repeats: int) -> dict[str, float]:
    """Seconds of one allreduce of a float32 tensor of ``size_bytes``: the median of ``repeats`` calls."""
    tensor = torch.ones(size_bytes // 4)
    for _ in range(2):
        dist.all_reduce(tensor)
        tensor.fill_(1.0)
    dist.barrier()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        dist.all_reduce(tensor)
        times.append(time.perf_counter() - started)
        tensor.fill_(1.0)
    return summary(times)


def latency(size_bytes: int, repeats: int, after_barrier: bool) -> dict[str, float]:
    """Seconds of one small allreduce, in a row of them or each right after a barrier."""
    tensor = torch.ones(size_bytes // 4)
    for _ in range(50):
        dist.all_reduce(tensor)
        tensor.fill_(1.0)
    times = []
    for _ in range(repeats):
        if after_barrier:
            dist.barrier()
        started = time.perf_counter()
        dist.all_reduce(tensor)
        times.append(time.perf_counter() - started)
        tensor.fill_(1.0)
    return summary(times)


def summary(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "median_s": statistics.median(ordered),
        "best_s": ordered[0],
        "p90_s": ordered[int(0.9 * (len(ordered) - 1))],
        "calls": len(ordered),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--size-bytes", type=int, default=64 << 20)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--small-bytes", type=int, default=4096)
    parser.add_argument("--small-repeats", type=int, default=1000)
    parser.add_argument("--barrier-repeats", type=int, default=200)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group(arguments.backend)
    result = {
        "backend": arguments.backend,
        "ranks": dist.get_world_size(),
        "size_bytes": arguments.size_bytes,
        "large": bandwidth(arguments.size_bytes, arguments.repeats),
        "small_bytes": arguments.small_bytes,
        "steady": latency(arguments.small_bytes, arguments.small_repeats, after_barrier=False),
        "after_barrier": latency(arguments.small_bytes, arguments.barrier_repeats, after_barrier=True),
    }
    if dist.get_rank() == 0:
        send_result(result)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
