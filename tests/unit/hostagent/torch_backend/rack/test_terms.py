"""A bfloat16 model is stepped as float32 masters are, which is not what torch's optimizer does with bfloat16.

torch keeps weights and state in the parameter's type. With 8 bits of precision ``v * 0.999 + g * g * 0.001`` is v
again, for half a unit of v is 0.002 v or more; so Adam's second moment does not fade, and weights miss what is less
than half a unit of theirs.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from tests.labs.rack_network import RackNetwork, make_optimizer, on_ranks, rack_network

SIZE, STEPS, LR = 2, 15, 1e-2


@pytest.fixture(scope="module")
def network() -> Iterator[RackNetwork]:
    with rack_network(SIZE) as made:
        made.install_job()
        yield made


torch.manual_seed(3)
MODEL = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).to(torch.bfloat16)


def make_model() -> torch.nn.Module:
    return copy.deepcopy(MODEL)


def backward(model: torch.nn.Module, step: int, rank: int) -> None:
    inputs = torch.randn(16, 8, generator=torch.Generator().manual_seed(100 * step + rank)).to(torch.bfloat16)
    model.zero_grad()
    torch.nn.functional.mse_loss(model(inputs), inputs[:, :4]).backward()


def mean_gradients(model: torch.nn.Module, step: int) -> list[Tensor]:
    """Over the ranks, in float32: of bfloat16 gradients, as each rank has them."""
    sums = [torch.zeros_like(parameter, dtype=torch.float32) for parameter in model.parameters()]
    for rank in range(SIZE):
        backward(model, step, rank)
        for total, parameter in zip(sums, model.parameters(), strict=True):
            assert parameter.grad is not None
            total += parameter.grad.float() / SIZE
    return sums


def with_masters() -> list[Tensor]:
    """torch's own Adam on float32 copies of the weights, which the model is given rounded."""
    model = make_model()
    masters = [parameter.detach().float() for parameter in model.parameters()]
    adam = torch.optim.Adam(masters, lr=LR)
    for step in range(STEPS):
        for master, gradient in zip(masters, mean_gradients(model, step), strict=True):
            master.grad = gradient
        adam.step()
        with torch.no_grad():
            for master, parameter in zip(masters, model.parameters(), strict=True):
                parameter.copy_(master)
    return masters


def without_masters() -> list[Tensor]:
    """torch's own Adam on the model itself."""
    model = make_model()
    adam = torch.optim.Adam(model.parameters(), lr=LR)
    for step in range(STEPS):
        for parameter, gradient in zip(model.parameters(), mean_gradients(model, step), strict=True):
            parameter.grad = gradient.to(torch.bfloat16)
        adam.step()
    return [parameter.detach().float() for parameter in model.parameters()]


def test_adam_on_bfloat16_is_torchs_on_float32_masters(network: RackNetwork) -> None:
    def body(rank: int) -> list[Tensor]:
        model = make_model()
        optimizer = make_optimizer(network, rank, model.parameters(), "adam", lr=LR)
        for step in range(STEPS):
            backward(model, step, rank)
            optimizer.step()
        state = optimizer.state_dict()["state"]
        optimizer.close()
        return [state[number]["master"] for number in range(len(state))]

    ours, masters, torchs = on_ranks(SIZE, body)[0], with_masters(), without_masters()
    ours_off, torchs_off = (furthest(found, masters) for found in (ours, torchs))
    assert ours_off < 1e-4
    assert torchs_off > 100 * ours_off
    assert torchs_off > LR / 4


def furthest(found: list[Tensor], expected: list[Tensor]) -> float:
    return max(float((one - other).abs().max()) for one, other in zip(found, expected, strict=True))


def test_torchs_second_moment_in_bfloat16_does_not_fade() -> None:
    for dtype, left in ((torch.float32, 0.999**500), (torch.bfloat16, 1.0)):
        weight = torch.zeros(1, dtype=dtype)
        adam = torch.optim.Adam([weight], lr=0.0)
        for gradient in (1.0, *[0.0] * 500):
            weight.grad = torch.full((1,), gradient, dtype=dtype)
            adam.step()
        first = 0.001
        assert float(adam.state[weight]["exp_avg_sq"]) == pytest.approx(left * first, rel=0.01)
