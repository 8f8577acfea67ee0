"""A rank that records a step of DDP on gloo, as torch does: FOLDER gets step.RANK.json and step.RANK.timeline.json."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile


def main():
    folder, rank, ranks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks)
    torch.set_num_threads(1)
    layers = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(400, 400), nn.ReLU())))
    model = DistributedDataParallel(layers, bucket_cap_mb=0.5)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step():
        optimizer.zero_grad()
        model(torch.randn(8, 400)).square().mean().backward()
        optimizer.step()

    step()
    step()  # its buckets are those of all steps from now on
    observer = ExecutionTraceObserver().register_callback(f"{folder}/step.{rank}.json")
    with profile(activities=[ProfilerActivity.CPU], execution_trace_observer=observer) as timeline:
        step()
    timeline.export_chrome_trace(f"{folder}/step.{rank}.timeline.json")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
