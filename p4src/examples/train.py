import torch
import torch.distributed as dist

dist.init_process_group("netsum")
dist.all_reduce(x := torch.full((1000,), 1.0 + dist.get_rank()))
print(f"rank {dist.get_rank()}: {x[0]:g}")  # 10 on each of 4 ranks
