"""One rank of allreduce.py: BACKEND SIZE_BYTES CALLS JOBS; each call timed and checked, a line of JSON at the end."""

from __future__ import annotations

import json
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
    backend, size_bytes, calls, jobs = sys.argv[1], *map(int, sys.argv[2:5])
    dist.init_process_group(backend)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    tensor = torch.empty(size_bytes // 4)
    times_s, starts_s, sent_bytes, received_bytes = [], [], [], []
    for call in range(calls + 1):
        tensor.fill_(rank + 1.0)
        if call == 1 and jobs > 1 and rank == 0:  # jobs go on together
            print("ready", flush=True)
            sys.stdin.readline()
        dist.barrier()
        before = interface_bytes()
        started_s = time.perf_counter()
        dist.all_reduce(tensor)
        ended_s = time.perf_counter()
        if not bool((tensor == ranks * (ranks + 1) / 2).all()):
            raise SystemExit(f"rank {rank}: the sum is wrong in call {call}")
        if call:  # the first one makes connections and is not counted
            sent, received = (now - then for now, then in zip(interface_bytes(), before, strict=True))
            times_s.append(ended_s - started_s)
            starts_s.append(started_s)  # of a clock that all processes of the machine share
            sent_bytes.append(sent)
            received_bytes.append(received)
    dist.barrier()
    said = {"times_s": times_s, "starts_s": starts_s, "sent_bytes": sent_bytes, "received_bytes": received_bytes}
    print(json.dumps(said), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
