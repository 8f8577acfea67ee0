"""A DataLoader with workers, which are forked from ranks that are in the middle of a job."""

import torch
import torch.distributed as dist
from lines import say
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("netsum")
dist.all_reduce(torch.ones(10))
total = torch.zeros(1)
for _ in range(2):
    for (batch,) in DataLoader(TensorDataset(torch.ones(24)), batch_size=4, num_workers=2):
        share = batch.sum().reshape(1)
        dist.all_reduce(share)
        total += share
assert total.item() == 2 * 24 * dist.get_world_size(), total
say("loaded")
dist.destroy_process_group()
