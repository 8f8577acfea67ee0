"""The ranks' side of ``netsum bench server``: gradients that are there, to weights that have been stepped by Adam.

On a rack server that is one push-pull; on gloo what DDP does (an allreduce for each bucket of 25 MB, gradients being
views of the buckets) and a local step of torch.optim.Adam. Prints rank 0's median as JSON.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

from hostagent.cli.bench.cpu import ROOT_VARIABLE, by_process, spent
from hostagent.cli.bench.runner import send_result

BUCKET_ELEMENTS = 25 * (1 << 20) // 4
"""DDP's default bucket."""


def make_parameters(count: int) -> list[torch.nn.Parameter]:
    """Buckets' worth of parameters, the last one smaller, with gradients of their own."""
    parameters = []
    for first in range(0, count, BUCKET_ELEMENTS):
        parameter = torch.nn.Parameter(torch.ones(min(BUCKET_ELEMENTS, count - first)))
        parameter.grad = torch.randn(parameter.numel()) * 1e-3
        parameters.append(parameter)
    return parameters


def rack_step(parameters: list[torch.nn.Parameter]) -> Callable[[], object]:
    """Push, step in the server, pull."""
    from hostagent.torch_backend.rack import RackOptimizer

    optimizer = RackOptimizer(parameters, optim="adam", lr=1e-3, overlap=False)
    return optimizer.step


def gloo_step(parameters: list[torch.nn.Parameter]) -> Callable[[], object]:
    """Allreduce, divide, step."""
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    ranks = dist.get_world_size()

    def step() -> None:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        works = [dist.all_reduce(gradient, async_op=True) for gradient in gradients]
        for work, gradient in zip(works, gradients, strict=True):
            work.wait()
            gradient /= ranks
        optimizer.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("rack", "gloo"), required=True)
    parser.add_argument("--parameters", type=int, default=25_000_000)
    parser.add_argument("--steps", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    parameters = make_parameters(arguments.parameters)
    step = (rack_step if arguments.backend == "rack" else gloo_step)(parameters)
    times: list[float] = []
    root = int(os.environ.get(ROOT_VARIABLE, os.getppid()))
    before: dict[int, tuple[str, float]] = {}
    for number in range(arguments.steps + 2):
        if number == 2 and dist.get_rank() == 0:
            before = by_process(root)
        dist.barrier()
        started = time.perf_counter()
        step()
        if number >= 2:
            times.append(time.perf_counter() - started)
    dist.barrier()
    if dist.get_rank() == 0:
        cpu = {kind: seconds / arguments.steps for kind, seconds in spent(before, by_process(root)).items()}
        send_result({"median_s": statistics.median(times), "times_s": times, "cpu_s": cpu})
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
