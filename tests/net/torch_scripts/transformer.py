"""A small transformer learns the characters of the standard library's documentation, on 4 ranks, in three ways: DDP,
FSDP2, and a pipeline of 4 stages.

On netsum twice, with the same bits, and on gloo, with the same losses: within TOLERANCE where gradients are summed, to
the bit in the pipeline, which only sends.
"""

import argparse
import decimal
import difflib
import logging.config
import pickle
import string
import subprocess

import torch
import torch.distributed as dist
from lines import say
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn.functional import cross_entropy, scaled_dot_product_attention
from torch.nn.parallel import DistributedDataParallel

TEXT = "\n".join(m.__doc__ for m in (argparse, decimal, difflib, logging.config, pickle, string, subprocess))
ALPHABET = sorted(set(TEXT))
CHARACTERS = torch.tensor([ALPHABET.index(each) for each in TEXT])
WIDTH, HEADS, CONTEXT, BATCH, STEPS, LAYERS = 32, 2, 32, 32, 8, 4
TOLERANCE = 1e-5
"""Of losses, relative to gloo's: sums in block floating point are rounded otherwise."""


class Block(nn.Module):
    """Attention to what came before, and a layer for each position."""

    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.joined = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, given):
        split = self.attention(self.before(given)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        found = scaled_dot_product_attention(*split, is_causal=True).transpose(1, 2).flatten(2)
        given = given + self.joined(found)
        return given + self.narrow(nn.functional.gelu(self.wide(self.after(given))))


class Start(nn.Module):
    """Characters and their positions."""

    def __init__(self):
        super().__init__()
        self.characters, self.positions = nn.Embedding(len(ALPHABET), WIDTH), nn.Embedding(CONTEXT, WIDTH)

    def forward(self, given):
        return self.characters(given) + self.positions.weight


def make_layers():
    torch.manual_seed(1)
    return [
        Start(),
        *(Block() for _ in range(LAYERS)),
        nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(ALPHABET))),
    ]


def adam(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-2)


def batch(step):
    """The same on all ranks: BATCH pieces of text, and what follows each character."""
    starts = torch.randint(len(CHARACTERS) - CONTEXT, (BATCH, 1), generator=torch.Generator().manual_seed(step))
    pieces = CHARACTERS[starts + torch.arange(CONTEXT + 1)]
    return pieces[:, :-1].contiguous(), pieces[:, 1:].contiguous()


def loss_of(output, wanted):
    return cross_entropy(output.flatten(0, 1), wanted.flatten())


def train(model):
    """Each rank has its part of every batch; the losses of whole batches."""
    optimizer, losses = adam(model), []
    for step in range(STEPS):
        given, wanted = (each.chunk(SIZE)[RANK] for each in batch(step))
        optimizer.zero_grad()
        loss = loss_of(model(given), wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def ddp(group):
    model = DistributedDataParallel(nn.Sequential(*make_layers()), process_group=group, bucket_cap_mb=0.1)
    return train(model), list(model.parameters())


def fsdp2(group):

    model = nn.Sequential(*make_layers())
    for layer in (*model[1:-1], model):
        fully_shard(layer, mesh=DeviceMesh.from_group(group, "cpu"))
    losses = train(model)
    return losses, [parameter.to_local() for parameter in model.parameters()]


def pipeline(group):

    layers = make_layers()
    parts = [nn.Sequential(*layers[:2]), *layers[2:4], nn.Sequential(*layers[4:])]
    stage = PipelineStage(parts[RANK], RANK, SIZE, torch.device("cpu"), group=group)
    schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=loss_of)
    optimizer, losses = adam(parts[RANK]), []
    for step in range(STEPS):
        given, wanted = batch(step)
        optimizer.zero_grad()
        of_parts = []
        last = {"target": wanted, "losses": of_parts} if RANK == SIZE - 1 else {}
        schedule.step(*([given] if RANK == 0 else []), **last)
        optimizer.step()
        losses.append(torch.stack(of_parts).mean().detach() if of_parts else torch.zeros(()))
    return torch.stack(losses), list(parts[RANK].parameters())


def main():
    global RANK, SIZE
    dist.init_process_group("netsum")
    RANK, SIZE = dist.get_rank(), dist.get_world_size()
    gloo = dist.new_group(backend="gloo")
    for way, trainer in (("ddp", ddp), ("fsdp2", fsdp2), ("pipeline", pipeline)):
        losses, parameters = trainer(dist.group.WORLD)
        again, its_parameters = trainer(dist.group.WORLD)
        theirs, _ = trainer(gloo)
        assert torch.equal(losses, again), f"{way}: losses {losses}, the second time {again}"
        assert all(torch.equal(one, other) for one, other in zip(parameters, its_parameters, strict=True)), way
        difference = (losses - theirs).abs().max() / theirs.abs().max().clamp(min=1e-9)
        assert difference <= (0 if way == "pipeline" else TOLERANCE), f"{way}: {losses}, with gloo {theirs}"
        assert (way == "pipeline" and RANK != SIZE - 1) or losses[-1] < 0.8 * losses[0], f"{way}: {losses}"
        say(f"{way}: losses {losses[0]:.4f} to {losses[-1]:.4f}, {difference:.1e} from gloo's")
    dist.destroy_process_group()
