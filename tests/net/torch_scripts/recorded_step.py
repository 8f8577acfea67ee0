"""A rank that records a step on gloo, as torch does: FOLDER gets step.RANK.json and step.RANK.timeline.json. The step
is of DDP (ddp), or sends what it calculates around a ring (ring; groups: beside another group)."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile


def ddp_step():
    layers = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(400, 400), nn.ReLU())))
    model = DistributedDataParallel(layers, bucket_cap_mb=0.5)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step():
        optimizer.zero_grad()
        model(torch.randn(8, 400)).square().mean().backward()
        optimizer.step()

    return step


def ring_step():
    rank, ranks = dist.get_rank(), dist.get_world_size()

    def step():
        own, got = torch.ones(1000).mul(rank), torch.empty(1000)
        sending = dist.isend(own, (rank + 1) % ranks, tag=3)
        dist.recv(got, (rank - 1) % ranks, tag=3)
        got.add_(1)
        sending.wait()
        dist.all_reduce(got)

    return step


def main():
    folder, rank, ranks, name = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks)
    if name == "groups":
        dist.new_group([0, 1])
    torch.set_num_threads(1)
    step = ddp_step() if name == "ddp" else ring_step()
    step()
    step()  # DDP's buckets are those of all steps from now on
    observer = ExecutionTraceObserver().register_callback(f"{folder}/step.{rank}.json")
    with profile(activities=[ProfilerActivity.CPU], execution_trace_observer=observer) as timeline:
        step()
    timeline.export_chrome_trace(f"{folder}/step.{rank}.timeline.json")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
