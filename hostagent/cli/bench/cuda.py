"""``netsum bench cuda``: an all_reduce and a training step of DDP with tensors on a GPU, on both backends in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hostagent.cli.bench.ranks import run_in_turn
from hostagent.cli.bench.runner import BenchError, Report, Row

ROUNDS = 2
LAUNCHES: dict[str, Sequence[str] | None] = {"gloo": None, "netsum": [], "netsum_host": []}
CALLS = {
    "float32": "all_reduce, float32",
    "bfloat16": "all_reduce, bfloat16",
    "packed": "all_reduce, bfloat16, packed",
    "int32": "all_reduce, int32",
    "step": "DDP step, 103 MB of gradients",
}


def measure(ranks: Sequence[int] = (2, 4), size_bytes: int = 64 << 20, repeats: int = 10) -> Report:
    """Rows for each number of ranks; the better median of each backend counts. Raises BenchError without a GPU."""
    import torch

    if not torch.cuda.is_available():
        raise BenchError("needs an NVIDIA GPU, and a PyTorch that was built for it")
    rows: list[Row] = []
    for count in ranks:
        rows += _rows(
            count, size_bytes, run_in_turn("device", count, ROUNDS, LAUNCHES, size_bytes=size_bytes, repeats=repeats)
        )
    remarks = (
        f"{torch.cuda.get_device_name()}, {torch.cuda.device_count()} of them; quantized on the GPU, or by hosts",
    )
    return Report("cuda", f"tensors on a GPU, {size_bytes >> 20} MiB", rows, remarks=remarks)


def _rows(ranks: int, size_bytes: int, runs: dict[str, list[dict[str, Any]]]) -> list[Row]:
    rows = []
    alone = min(float(run["step_alone"]) for backend in runs for run in runs[backend])
    for call, name in CALLS.items():
        gloo, device, host = (1e3 * min(float(run[call]) for run in runs[backend]) for backend in LAUNCHES)
        details = {"ranks": ranks, "size_bytes": size_bytes, "step_alone_s": alone}
        note = f"{1e3 * alone:.1f} ms of it without communication" if call == "step" else ""
        rows.append(Row(f"{ranks} ranks, {name}", device, "ms", "gloo", gloo, note, details))
        if call != "int32":  # has nothing to quantize
            rows.append(Row(f"{ranks} ranks, {name}, by hosts", host, "ms", "gloo", gloo, note, details))
    return rows
