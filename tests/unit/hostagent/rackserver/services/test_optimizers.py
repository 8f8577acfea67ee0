"""The server's optimizer loops against torch.optim on the same gradients, and Parameter Hub's order against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from emulator.native.jit import njit
from emulator.native.pages import address_of, aligned_bytes
from hostagent.protocol.served import ServedFlag, ServedOptimizer
from hostagent.rackserver.services.optimizer_step import step_chunk
from hostagent.rackserver.services.optimizers import ADAM, set_terms, state_tensors
from hostagent.rackserver.services.records import KEY, SERVICE, key_at

LANES = 256
LONG = ("momentum", "adamw")
"""Those that are played for all of a thousand steps; the others take 200."""
Array = np.ndarray[Any, Any]


@njit
def write_terms(key: int, numbers: Any, updates: int) -> None:
    set_terms(key_at(key), numbers, updates, updates == 1)


@njit
def run_step(service: int, key: int, gradient: int, count: int) -> Any:
    return step_chunk(service, key, 0, gradient, count)


class OneChunk:
    """A key of one chunk, stepped again and again."""

    def __init__(self, weights: Array, optimizer: int, flags: int) -> None:
        self._service: Any = aligned_bytes(SERVICE.itemsize).view(SERVICE)
        self._key: Any = aligned_bytes(KEY.itemsize).view(KEY)
        self._buffers = np.zeros((8, LANES), np.float32)
        self._versions = np.array([0, -1], np.int64)
        self._service["lanes"], self._service["open_step"] = LANES, 0
        self._key["chunks"], self._key["versions"] = 1, address_of(self._versions)
        self._key["optimizer"], self._key["flags"] = optimizer, flags
        for number, buffer in enumerate(self._buffers):
            self._key["buffers"][0, number] = address_of(buffer)
        self._buffers[0, : weights.size] = weights
        self.count = weights.size
        self.steps = 0

    def step(self, gradient: Array, numbers: tuple[float, ...]) -> None:
        self._service["step"], self._service["open_step"] = self.steps, self.steps + 1
        self.steps += 1
        held = gradient.copy()
        write_terms(address_of(self._key), numbers, self.steps)
        run_step(address_of(self._service), address_of(self._key), address_of(held), self.count)

    def buffer(self, number: int) -> Array:
        return self._buffers[2 * number + self.steps % 2, : self.count]


def gradients(steps: int, count: int) -> list[Array]:
    rng = np.random.default_rng(4)
    return [(rng.standard_normal(count) * 10.0 ** rng.integers(-4, 2)).astype(np.float32) for _ in range(steps)]


CASES: list[tuple[str, int, int, tuple[float, ...], Callable[[Any], torch.optim.Optimizer]]] = [
    ("sgd", 1, 0, (0.1, 0, 0, 0, 0, 1, 0), lambda p: torch.optim.SGD([p], 0.1)),
    ("decay", 1, 0, (0.1, 0, 0, 0, 0.01, 1, 0), lambda p: torch.optim.SGD([p], 0.1, weight_decay=0.01)),
    (
        "momentum",
        1,
        0,
        (0.05, 0.9, 0.1, 0, 0.01, 1, 0),
        lambda p: torch.optim.SGD([p], 0.05, 0.9, dampening=0.1, weight_decay=0.01),
    ),
    (
        "nesterov",
        1,
        int(ServedFlag.NESTEROV),
        (0.05, 0.9, 0, 0, 0.01, 1, 0),
        lambda p: torch.optim.SGD([p], 0.05, 0.9, nesterov=True, weight_decay=0.01),
    ),
    (
        "maximize",
        1,
        int(ServedFlag.MAXIMIZE),
        (0.05, 0.9, 0, 0, 0.01, 1, 0),
        lambda p: torch.optim.SGD([p], 0.05, 0.9, maximize=True, weight_decay=0.01),
    ),
    (
        "adam",
        3,
        0,
        (1e-3, 0.9, 0.999, 1e-8, 0.01, 1, 0),
        lambda p: torch.optim.Adam([p], 1e-3, weight_decay=0.01),
    ),
    (
        "amsgrad",
        3,
        int(ServedFlag.AMSGRAD),
        (1e-3, 0.9, 0.999, 1e-8, 0, 1, 0),
        lambda p: torch.optim.Adam([p], 1e-3, amsgrad=True),
    ),
    (
        "adamw",
        4,
        0,
        (1e-3, 0.9, 0.999, 1e-8, 0.05, 1, 0),
        lambda p: torch.optim.AdamW([p], 1e-3, weight_decay=0.05),
    ),
]


@pytest.mark.parametrize(("name", "optimizer", "flags", "numbers", "make"), CASES, ids=[case[0] for case in CASES])
def test_steps_are_torchs_with_the_same_bits_in_sgd_and_in_all_state(
    name: str, optimizer: int, flags: int, numbers: tuple[float, ...], make: Callable[[Any], torch.optim.Optimizer]
) -> None:
    """Learning rates change in mid-run, as a scheduler's do."""
    count = 203
    first = np.random.default_rng(3).standard_normal(count).astype(np.float32)
    chunk = OneChunk(first, optimizer, flags)
    parameter = torch.nn.Parameter(torch.from_numpy(first.copy()))
    peer = make(parameter)
    steps = 1000 if name in LONG else 200
    for number, gradient in enumerate(gradients(steps, count)):
        lr = numbers[0] * (0.5 if number % 300 > 150 else 1.0)
        peer.param_groups[0]["lr"] = lr
        parameter.grad = torch.from_numpy(gradient.copy())
        peer.step()
        chunk.step(gradient, (lr, *numbers[1:]))
    wanted = parameter.detach().numpy()
    got = chunk.buffer(0)
    assert np.allclose(got, wanted, rtol=1e-6, atol=1e-7), np.abs(got - wanted).max()
    if optimizer < ADAM:  # of Adam torch's square root is not rounded to nearest everywhere; ours is
        assert got.tobytes() == wanted.tobytes()
    state = peer.state[parameter]
    names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if optimizer >= ADAM else ("momentum_buffer",)
    for number in range(state_tensors(optimizer, flags, numbers[1])):
        assert chunk.buffer(number + 1).tobytes() == state[names[number]].numpy().tobytes(), names[number]


def test_nag_is_parameter_hubs_order_of_operations() -> None:
    f32 = np.float32
    rescale, lr, mu, decay = 1 / 128, 0.1, 0.9, 1e-5
    weights = np.random.default_rng(3).standard_normal(200).astype(np.float32)
    chunk, momentum = OneChunk(weights, int(ServedOptimizer.NAG), 0), np.zeros(200, np.float32)
    for gradient in gradients(120, 200):
        chunk.step(gradient, (lr, mu, 0, 0, decay, rescale, 0))
        given = gradient * f32(rescale)
        momentum *= f32(mu)
        given += f32(decay) * weights
        momentum += given
        given += f32(mu) * momentum
        weights -= f32(lr) * given
    assert np.allclose(chunk.buffer(0), weights, rtol=1e-6, atol=1e-7)
