"""Tensors of a device between live ranks: the same bits as from host memory."""

from __future__ import annotations

import pytest
import torch

from tests.labs.torch_jobs import run


def test_calls_on_a_device_give_the_bits_of_calls_on_host_memory(controller):
    assert all("the same bits" in output for output in run(3, controller, "device_calls.py", "lazy"))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("size", [2, 3])
def test_calls_and_training_on_a_gpu(controller, size):
    assert all("the same bits" in output for output in run(size, controller, "device_calls.py", "cuda"))
