"""Training jobs of the benchmarks: `run_in_turn` starts their ranks, which run this file as a script.

    python ranks.py allreduce|step|collectives|device '{"backend": "gloo", ...}'

``allreduce``: large tensors back to back (bandwidth), small ones back to back (steady-state latency), and small ones
each right after a barrier, when the other processes have to be woken first. ``step``: from gradients that are there to
weights that Adam has stepped: on a rack server one push-pull, on gloo what DDP does (an allreduce for each bucket of
25 MB) and a local step of torch.optim.Adam: its default on CPUs, a loop of operations (`gloo`), and ``fused=True``
(`gloo_fused`), which is what one who knows takes. ``collectives``: see `collective_calls`; ``device``: `device_calls`
(`netsum_host`: quantized by the hosts). Rank 0 prints its result as a line of JSON.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hostagent.cli.bench.runner import BenchError

if TYPE_CHECKING:
    import torch

TIMEOUT_S = 600
MARK = "BENCH "
"""Start of the line that holds the result."""
ROOT_VARIABLE = "NETSUM_BENCH_ROOT"
"""Process whose descendants are the benchmark's."""
TICKS = os.sysconf("SC_CLK_TCK")
SMALL_BYTES = 4096
SMALL_CALLS, BARRIER_CALLS = 1000, 200
BUCKET_ELEMENTS = 25 * (1 << 20) // 4
"""DDP's default bucket."""
WARM_STEPS = 2


# --- The benchmark's process --------------------------------------------------------------------------------------


def run_in_turn(
    kind: str, ranks: int, rounds: int, launches: Mapping[str, Sequence[str] | None], **settings: Any
) -> dict[str, list[dict[str, Any]]]:
    """Results of each backend. ``launches``: by backend the options of ``netsum run``; None for torchrun.

    In turn, because the speed of a shared machine drifts by more than the backends differ. Raises BenchError.
    """
    results: dict[str, list[dict[str, Any]]] = {backend: [] for backend in launches}
    for _ in range(rounds):
        for backend, ours in launches.items():
            if ours is not None:
                launch = [sys.executable, "-m", "hostagent.cli.main", "run", "-n", str(ranks), *ours]
            else:
                launch = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}"]
            results[backend].append(_run([*launch, __file__, kind, json.dumps({"backend": backend, **settings})]))
    return results


def _run(command: list[str]) -> dict[str, Any]:
    environment = {**os.environ, ROOT_VARIABLE: str(os.getpid())}
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment)
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            result: dict[str, Any] = json.loads(line.removeprefix(MARK))
            return result
    raise BenchError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


# --- A rank -------------------------------------------------------------------------------------------------------


def measure_allreduce(backend: str, size_bytes: int, repeats: int) -> dict[str, Any]:
    """All three figures."""
    import torch.distributed as dist

    return {
        "backend": backend,
        "ranks": dist.get_world_size(),
        "size_bytes": size_bytes,
        "large": _calls(size_bytes, 2, repeats),
        "small_bytes": SMALL_BYTES,
        "steady": _calls(SMALL_BYTES, 50, SMALL_CALLS),
        "after_barrier": _calls(SMALL_BYTES, 50, BARRIER_CALLS, after_barrier=True),
    }


def _calls(size_bytes: int, warm: int, repeats: int, after_barrier: bool = False) -> dict[str, float]:
    """Seconds of an allreduce of float32, back to back or each right after a barrier."""
    import torch
    import torch.distributed as dist

    tensor = torch.ones(size_bytes // 4)
    times = []
    for number in range(warm + repeats):
        if number == warm or (after_barrier and number > warm):
            dist.barrier()
        started = time.perf_counter()
        dist.all_reduce(tensor)
        times.append(time.perf_counter() - started)
        tensor.fill_(1.0)
    ordered = sorted(times[warm:])
    p90_s = ordered[int(0.9 * (repeats - 1))]
    return {"median_s": statistics.median(ordered), "best_s": ordered[0], "p90_s": p90_s, "calls": repeats}


def measure_step(backend: str, parameters: int, steps: int) -> dict[str, Any]:
    """Seconds and CPU seconds of a training step's communication and optimizer."""
    import torch
    import torch.distributed as dist

    tensors = []
    for first in range(0, parameters, BUCKET_ELEMENTS):
        tensor = torch.nn.Parameter(torch.ones(min(BUCKET_ELEMENTS, parameters - first)))
        tensor.grad = torch.randn(tensor.numel()) * 1e-3
        tensors.append(tensor)
    step = _rack_step(tensors) if backend == "rack" else _gloo_step(tensors, backend == "gloo_fused")
    times: list[float] = []
    root = int(os.environ.get(ROOT_VARIABLE, os.getppid()))
    before: dict[int, tuple[str, float]] = {}
    for number in range(WARM_STEPS + steps):
        if number == WARM_STEPS and dist.get_rank() == 0:
            before = cpu_by_process(root)
        dist.barrier()
        started = time.perf_counter()
        step()
        times.append(time.perf_counter() - started)
    times = times[WARM_STEPS:]
    dist.barrier()
    after = cpu_by_process(root) if dist.get_rank() == 0 else {}
    cpu = {kind: seconds / steps for kind, seconds in cpu_spent(before, after).items()}
    return {"median_s": statistics.median(times), "times_s": times, "cpu_s": cpu}


def _rack_step(parameters: list[torch.nn.Parameter]) -> Callable[[], object]:
    """Push, step in the server, pull."""
    from hostagent.torch_backend.rack import RackOptimizer

    return RackOptimizer(parameters, optim="adam", lr=1e-3, overlap=False).step


def _gloo_step(parameters: list[torch.nn.Parameter], fused: bool) -> Callable[[], object]:
    """Allreduce, divide, step."""
    import torch
    import torch.distributed as dist

    optimizer = torch.optim.Adam(parameters, lr=1e-3, fused=fused or None)
    ranks = dist.get_world_size()

    def step() -> None:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        works = [dist.all_reduce(gradient, async_op=True) for gradient in gradients]
        for work, gradient in zip(works, gradients, strict=True):
            work.wait()
            gradient /= ranks
        optimizer.step()

    return step


def cpu_by_process(root: int) -> dict[int, tuple[str, float]]:
    """Command line and CPU seconds so far of every living descendant of a process."""
    parents, processes = {}, {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended
            continue
        pid = int(folder.name)
        parents[pid] = int(fields[1])
        processes[pid] = (command, (int(fields[11]) + int(fields[12])) / TICKS)

    def descends(pid: int) -> bool:
        pid = parents.get(pid, 0)
        return pid == root or (pid > 1 and descends(pid))

    return {pid: process for pid, process in processes.items() if descends(pid)}


def cpu_spent(before: dict[int, tuple[str, float]], after: dict[int, tuple[str, float]]) -> dict[str, float]:
    """CPU seconds between two calls of `cpu_by_process`, by kind of process: ``ranks``, ``server`` and ``others``."""
    sums = {"ranks": 0.0, "server": 0.0, "others": 0.0}
    for pid, (command, seconds) in after.items():
        is_script = Path(__file__).name in command
        kind = "ranks" if is_script and " run " not in f" {command} " else "others"
        if " server " in f" {command} " and not is_script:
            kind = "server"
        sums[kind] += seconds - before.get(pid, ("", 0.0))[1]
    return sums


def measure_collectives(backend: str, **settings: Any) -> dict[str, Any]:
    """See `collective_calls`."""
    from hostagent.cli.bench import collective_calls

    return dict(collective_calls.measure_collectives(**settings))


def measure_device(backend: str, **settings: Any) -> dict[str, Any]:
    """See `device_calls`."""
    from hostagent import Options
    from hostagent.cli.bench import device_calls

    backend, _, quantizer = backend.partition("_")
    packed = Options(precision="packed", quantizer=quantizer) if backend == "netsum" else None
    return dict(device_calls.measure_device(packed, **settings))


MEASURES: dict[str, Callable[..., dict[str, Any]]] = {
    "allreduce": measure_allreduce,
    "step": measure_step,
    "collectives": measure_collectives,
    "device": measure_device,
}


def main() -> None:
    """One rank."""
    import torch
    import torch.distributed as dist

    settings = json.loads(sys.argv[2])
    torch.set_num_threads(1)
    backend, _, variant = settings["backend"].partition("_")
    options = None
    if backend == "netsum" and variant:
        from hostagent import Options

        options = Options(quantizer=variant)
    dist.init_process_group("netsum" if backend == "netsum" else "gloo", pg_options=options)
    result = MEASURES[sys.argv[1]](**settings)
    if dist.get_rank() == 0:
        print(MARK + json.dumps(result), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
