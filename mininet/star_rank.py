"""One rank of star.py: allreduce BACKEND SIZE_BYTES CALLS, timed and checked; prints a line of JSON."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist


def interface_bytes() -> tuple[int, int]:
    """(sent, received) of this host's only link, Ethernet headers included."""
    for line in Path("/proc/self/net/dev").read_text().splitlines()[2:]:
        name, numbers = line.split(":", 1)
        if name.strip() != "lo":
            fields = numbers.split()
            return int(fields[8]), int(fields[0])
    raise RuntimeError("this host has no link")


def main() -> None:
    backend, size_bytes, calls = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    dist.init_process_group(backend)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    tensor = torch.empty(size_bytes // 4)
    times_s = []
    for call in range(calls + 1):
        tensor.fill_(rank + 1.0)
        dist.barrier()
        if call == 1:  # the first one is not counted
            sent, received = interface_bytes()
        started_s = time.perf_counter()
        dist.all_reduce(tensor)
        times_s.append(time.perf_counter() - started_s)
        expected = ranks * (ranks + 1) / 2
        if not bool((tensor == expected).all()):
            raise SystemExit(f"rank {rank}: the sum is wrong in call {call}")
    dist.barrier()
    sent, received = (now - before for now, before in zip(interface_bytes(), (sent, received), strict=True))
    print(
        json.dumps(
            {
                "median_s": statistics.median(times_s[1:]),
                "sent_bytes": sent / calls,
                "received_bytes": received / calls,
            }
        ),
        flush=True,
    )
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
