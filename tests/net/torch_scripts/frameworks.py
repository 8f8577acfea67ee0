"""A tiny model with the framework that the argument names, as hostagent/torch_backend/FRAMEWORKS.md says."""

import sys

import torch
import torch.distributed as dist
from lines import say
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
MODEL = nn.Linear(4, 1)
DATA = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1)


def fsdp2():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("netsum")
    fully_shard(MODEL, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = sgd(MODEL.parameters())
    for given, wanted in DATA:
        optimizer.zero_grad()
        nn.functional.mse_loss(MODEL(given), wanted).backward()
        optimizer.step()
    return MODEL.weight.full_tensor()


def accelerate():
    """With the backend that it chooses itself: the run replaces it."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model, optimizer, data = accelerator.prepare(MODEL, sgd(MODEL.parameters()), DATA)
    for given, wanted in data:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(given), wanted)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    assert accelerator.gather_for_metrics(loss.detach().reshape(1)).shape == (dist.get_world_size(),)
    return MODEL.weight


def lightning():
    import lightning as framework
    from lightning.pytorch.strategies import DDPStrategy

    class Module(framework.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = MODEL

        def training_step(self, batch, index):
            loss = nn.functional.mse_loss(self.model(batch[0]), batch[1])
            self.log("loss", loss, sync_dist=True, on_epoch=True)  # an average of integers goes with it
            return loss

        def configure_optimizers(self):
            return sgd(self.parameters())

    off = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    strategy = DDPStrategy(process_group_backend="netsum")
    trainer = framework.Trainer(accelerator="cpu", devices=2, max_epochs=1, strategy=strategy, **off)
    trainer.fit(Module(), DATA)
    return MODEL.weight


weight = globals()[sys.argv[1]]().detach()
others = [torch.empty_like(weight) for _ in range(dist.get_world_size())]
dist.all_gather(others, weight)
assert all(torch.equal(other, weight) for other in others), others
assert not torch.equal(weight, torch.zeros_like(weight))
say(f"{sys.argv[1]} on {dist.get_backend()}: alike")
