"""Training with the optimizer in the rack server, through the loss of ranks or of the server.

    netsum run -n 4 --aggregator server rack_training.py --steps 200 --service mine:a-secret

The service keeps weights and optimizer state. After an error the ranks that live join again; ranks that are started
anew, by this command, find the service as well. Either way the loop goes on after the last whole step.
"""

import argparse
import os
import signal
import time
import zlib
from pathlib import Path

import torch
import torch.distributed as dist
from lines import say
from torch import nn

from hostagent import LostError
from hostagent.torch_backend.rack import RackOptimizer

PATIENCE_S = 60

options = argparse.ArgumentParser()
options.add_argument("--steps", type=int, default=200)
options.add_argument("--service", default=None)
options.add_argument("--rejoins", type=int, default=3)
options.add_argument("--hidden", type=int, default=256)
options.add_argument("--then", default=None, metavar="SERVICE", help="train once more, there")
options.add_argument("--kill", type=Path, default=None, metavar="FILE", help="of a process's id: killed after step 10")
arguments = options.parse_args()

dist.init_process_group("gloo")
RANK = dist.get_rank()


def train_one(model, optimizer):
    """The data of a step depend on the step's number only, so that it can be repeated."""
    generator = torch.Generator().manual_seed(1000 * optimizer.step_number + RANK)
    inputs = torch.randn(32, 20, generator=generator)
    targets = (inputs[:, 0] > 0).long() + (inputs[:, 1] > 1).long()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss.item()


def kill_as_told():
    """Once, by rank 0; waits until the test has written the process id."""
    file, arguments.kill = arguments.kill, None
    end_s = time.monotonic() + PATIENCE_S
    while not file.exists():
        assert time.monotonic() < end_s, f"{file} was not written"
        time.sleep(0.01)
    os.kill(int(file.read_text()), signal.SIGKILL)


def train(service):
    """To the last step, from the service's last whole one."""
    torch.manual_seed(0)
    hidden = arguments.hidden
    model = nn.Sequential(nn.Linear(20, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 3))
    optimizer = RackOptimizer(model.parameters(), optim="adam", lr=1e-3, server=service)
    say(f"rank {RANK} begins after step {optimizer.step_number}")
    failures = 0
    while optimizer.step_number < arguments.steps:
        if arguments.kill is not None and RANK == 0 and optimizer.step_number == 10:
            kill_as_told()
        try:
            if failures:
                say(f"rank {RANK} joins again after step {optimizer.rejoin()}")
            loss = train_one(model, optimizer)
            failures = 0
            if optimizer.step_number % 10 == 0:
                say(f"rank {RANK} step {optimizer.step_number} loss {loss:.4f}")
        except LostError as error:
            say(f"rank {RANK} in step {optimizer.step_number + 1}: {error}")
            failures += 1
            if failures > arguments.rejoins:
                raise
            time.sleep(0.1 * 2**failures)
    weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
    say(f"rank {RANK} has weights {zlib.crc32(weights):08x} after step {optimizer.step_number}")
    optimizer.close()


train(arguments.service)
if arguments.then is not None:
    train(arguments.then)
