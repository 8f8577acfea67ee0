"""A sum on the backend that the argument names, or on torch's own choice without one."""

import sys

import torch
import torch.distributed as dist
from lines import say

dist.init_process_group(*sys.argv[1:])
tensor = torch.ones(4)
dist.all_reduce(tensor)
say(f"{type(dist.group.WORLD).__name__}: {tensor.tolist()}")
dist.destroy_process_group()  # gloo's threads may abort an interpreter that ends beside them
