"""The demo's training job: an ordinary DDP script. Only ``--backend`` says where its gradients are summed.

A small CNN learns scikit-learn's handwritten digits (1,797 real images of 8 x 8 pixels that ship in the wheel). Started
by torchrun or ``netsum run``; rank 0 appends one JSON line a step to ``--journal``, and a last one with the accuracy.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

SEED = 20170514


def digits() -> tuple[TensorDataset, TensorDataset]:
    """Training and test set; images float32 (N, 1, 8, 8) in 0 to 1, labels int64 (N,)."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(images, labels, test_size=0.25, random_state=SEED, stratify=labels)
    x_train, x_test = (torch.tensor(x / 16.0, dtype=torch.float32).reshape(-1, 1, 8, 8) for x in parts[:2])
    y_train, y_test = (torch.tensor(y, dtype=torch.int64) for y in parts[2:])
    return TensorDataset(x_train, y_train), TensorDataset(x_test, y_test)


def cnn() -> nn.Sequential:
    """About 95,000 parameters: two convolutions and two dense layers."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 4 * 4, 72),
        nn.ReLU(),
        nn.Linear(72, 10),
    )


@torch.no_grad()
def accuracy(model: nn.Module, data: TensorDataset) -> float:
    """Share of ``data`` that ``model`` labels right."""
    images, labels = data.tensors
    return float((model(images).argmax(1) == labels).float().mean())


def train(arguments: argparse.Namespace) -> None:
    dist.init_process_group(arguments.backend)
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    training, test = digits()
    model = DistributedDataParallel(cnn())
    sampler: DistributedSampler[TensorDataset] = DistributedSampler(training, world, rank, seed=SEED)
    loader = DataLoader(training, batch_size=arguments.batch_size, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.learning_rate, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    log = arguments.journal.open("a") if arguments.journal and rank == 0 else None
    steps = arguments.epochs * len(loader)
    step = 0
    for epoch in range(arguments.epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            started = time.perf_counter()
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            step_s = time.perf_counter() - started
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            step += 1
            if log:
                line = {"step": step, "steps": steps, "epoch": epoch + 1, "loss": float(mean) / world, "step_s": step_s}
                print(json.dumps(line), file=log, flush=True)
    if log:
        result = {
            "accuracy": accuracy(model.module, test),
            "parameters": sum(p.numel() for p in model.parameters()),
            "steps": steps,
        }
        print(json.dumps(result), file=log, flush=True)
        log.close()
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="netsum")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=32, help="images per rank and step")
    parser.add_argument("--learning-rate", type=float, default=0.1)
    parser.add_argument("--journal", type=Path, help="file that rank 0 appends one JSON line a step to")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
