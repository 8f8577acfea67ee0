"""Rows of both backends, and of both places where floats are quantized."""

from __future__ import annotations

import pytest
import torch

from hostagent.cli.bench import cuda
from hostagent.cli.bench.runner import BenchError


def test_the_better_median_counts_and_gloo_is_the_baseline() -> None:
    def run(seconds: float) -> dict[str, float]:
        return {**dict.fromkeys(cuda.CALLS, seconds), "step_alone": seconds / 10}

    rows = cuda._rows(2, 64 << 20, {"gloo": [run(0.03)], "netsum": [run(0.02), run(0.01)], "netsum_host": [run(0.04)]})
    assert [row.name for row in rows[:2]] == ["2 ranks, all_reduce, float32", "2 ranks, all_reduce, float32, by hosts"]
    assert [round(row.ratio or 0, 3) for row in rows[:2]] == [3.0, 0.75]
    assert [row.name for row in rows if "int32" in row.name] == ["2 ranks, all_reduce, int32"]
    assert rows[-1].note == "1.0 ms of it without communication"


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_without_a_gpu_it_says_so() -> None:
    with pytest.raises(BenchError, match="needs an NVIDIA GPU"):
        cuda.measure()
