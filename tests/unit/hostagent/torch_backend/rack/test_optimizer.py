"""RackOptimizer on ranks that are threads, against the reference server of weights."""

from __future__ import annotations

import copy
import itertools
import threading
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._C._distributed_c10d import HashStore

from hostagent.protocol.served import Action, Announcement
from hostagent.torch_backend.errors import LostError, NetsumError, RefusedError
from hostagent.torch_backend.rack import RackOptimizer, client, layout
from tests.labs.rack_network import RackNetwork, make_optimizer, on_ranks, rack_network
from tests.labs.transport_network import LANES

SIZE, STEPS = 2, 4


@pytest.fixture(scope="module")
def network() -> Any:
    packed_below, layout.PACKED_BELOW = layout.PACKED_BELOW, 200
    with rack_network(SIZE) as made:
        yield made
    layout.PACKED_BELOW = packed_below


torch.manual_seed(3)
MODEL = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 20), torch.nn.Linear(20, 4))
"""Small parameters, and one that is a key by itself (see ``network``)."""


def make_model(dtype: torch.dtype = torch.float32) -> torch.nn.Module:
    return copy.deepcopy(MODEL).to(dtype)


def batch(step: int, rank: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(100 * step + rank)
    inputs = torch.randn(16, 8, generator=generator)
    return inputs.to(dtype), inputs[:, :4].to(dtype)


def backward(model: torch.nn.Module, step: int, rank: int) -> float:
    inputs, targets = batch(step, rank, next(model.parameters()).dtype)
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    return loss.item()


def train_alone(make: Any, steps: int, model: torch.nn.Module | None = None) -> tuple[torch.nn.Module, Any]:
    """The same in one process: torch's optimizer on the mean of the ranks' gradients."""
    model = model or make_model()
    optimizer = make(model.parameters())
    for step in range(steps):
        optimizer.zero_grad()
        total = sum(
            (
                torch.nn.functional.mse_loss(model(x), y)
                for x, y in (batch(step, r, torch.float32) for r in range(SIZE))
            ),
            torch.zeros(()),
        )
        (total / SIZE).backward()
        optimizer.step()
    return model, optimizer


def close_to(one: torch.nn.Module, other: torch.nn.Module, **tolerance: Any) -> None:
    tolerance = tolerance or {"rtol": 1e-4, "atol": 1e-5}
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, **tolerance)


def fresh(network: RackNetwork) -> None:
    """A service that nobody has written to."""
    network.server.services.clear()
    network.install_job()


@pytest.mark.parametrize(
    ("optim", "options"),
    [
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-3}),
        (torch.optim.Adam, {"lr": 1e-2}),
        (torch.optim.AdamW, {"lr": 1e-2, "weight_decay": 0.1}),
    ],
)
def test_training_is_as_with_torchs_own_optimizer(network: RackNetwork, optim: Any, options: dict[str, Any]) -> None:
    fresh(network)

    def body(rank: int) -> torch.nn.Module:
        model = make_model()
        if rank == 1:
            for parameter in model.parameters():
                parameter.data.zero_()  # rank 0's are everybody's
        optimizer = make_optimizer(network, rank, model.parameters(), optim, **options)
        for step in range(STEPS):
            optimizer.zero_grad()
            backward(model, step, rank)
            optimizer.step()
        assert optimizer.step_number == STEPS
        optimizer.close()
        return model

    models = on_ranks(SIZE, body)
    close_to(models[0], models[1], rtol=0, atol=0)
    close_to(models[0], train_alone(lambda params: optim(params, **options), STEPS)[0])


def test_learning_rates_may_not_change_between_backward_and_step(network: RackNetwork) -> None:
    fresh(network)

    def body(rank: int) -> torch.nn.Module:
        model = make_model()
        optimizer = make_optimizer(network, rank, model.parameters(), "sgd", lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        for step in range(STEPS):
            optimizer.zero_grad()
            backward(model, step, rank)
            optimizer.step()
            schedule.step()
        kept = copy.deepcopy(model)
        optimizer.zero_grad()
        backward(model, 9, rank)
        optimizer.param_groups[0]["lr"] = 1.0
        with pytest.raises(NetsumError, match="changed between backward and step"):
            optimizer.step()
        optimizer.close()
        return kept

    models = on_ranks(SIZE, body)
    alone = make_model()
    optimizer = torch.optim.SGD(alone.parameters(), lr=0.1)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = 0.1 * 0.5**step
        optimizer.zero_grad()
        for rank in range(SIZE):
            (
                torch.nn.functional.mse_loss(
                    alone(batch(step, rank, torch.float32)[0]), batch(step, rank, torch.float32)[1]
                )
                / SIZE
            ).backward()
        optimizer.step()
    close_to(models[0], alone)


def test_state_goes_to_torchs_optimizer_and_back(network: RackNetwork) -> None:
    fresh(network)

    def body(rank: int) -> tuple[torch.nn.Module, torch.optim.Adam]:
        start, own = train_alone(lambda params: torch.optim.Adam(params, lr=1e-2), 2)
        model = copy.deepcopy(start)
        optimizer = make_optimizer(network, rank, model.parameters(), "adam", lr=1.0)
        optimizer.load_state_dict(own.state_dict())
        for step in range(2, 4):
            optimizer.zero_grad()
            backward(model, step, rank)
            optimizer.step()
        mine = torch.optim.Adam(model.parameters())
        mine.load_state_dict(optimizer.state_dict())
        optimizer.close()
        assert float(mine.state[next(model.parameters())]["step"]) == 4
        return model, mine

    model, mine = on_ranks(SIZE, body)[0]
    alone, theirs = train_alone(lambda params: torch.optim.Adam(params, lr=1e-2), 4)
    close_to(model, alone)
    assert mine.param_groups[0]["lr"] == 1e-2
    for one, other in zip(model.parameters(), alone.parameters(), strict=True):
        for name in ("exp_avg", "exp_avg_sq"):
            torch.testing.assert_close(mine.state[one][name], theirs.state[other][name], rtol=1e-4, atol=1e-6)


def test_clipping_and_leaving_out_steps_that_are_not_finite(network: RackNetwork) -> None:
    fresh(network)

    def body(rank: int) -> tuple[torch.nn.Module, int]:
        model = make_model()
        optimizer = make_optimizer(network, rank, model.parameters(), "sgd", lr=0.5, max_norm=0.01, skip_nonfinite=True)
        for step in range(STEPS):
            optimizer.zero_grad()
            if step == 1 and rank == 1:
                (model(batch(step, rank, torch.float32)[0]).sum() * float("nan")).backward()
            else:
                backward(model, step, rank)
            before = [parameter.detach().clone() for parameter in model.parameters()]
            optimizer.step()
            after = list(model.parameters())
            moved = sum(float(((a.detach() - b) ** 2).sum()) for a, b in zip(after, before, strict=True)) ** 0.5
            assert moved == 0 if step == 1 else moved == pytest.approx(0.005, rel=1e-3)
            assert (optimizer.skipped_steps > 0) == (optimizer.nonfinite_chunks > 0) == (step >= 1)
        skipped = optimizer.skipped_steps
        optimizer.close()
        return model, skipped

    (one, skipped), (other, _) = on_ranks(SIZE, body)
    close_to(one, other, rtol=0, atol=0)
    assert skipped == 1


def test_chunks_that_are_not_finite_are_counted_in_their_own_step(network: RackNetwork) -> None:
    fresh(network)

    def body(rank: int) -> list[int]:
        weight = torch.nn.Parameter(torch.zeros(3 * LANES))
        optimizer = make_optimizer(network, rank, [weight], "sgd", lr=0.5)
        counts = []
        for step in range(3):
            weight.grad = None
            gradient = torch.ones(3 * LANES)
            gradient[2 * LANES - rank] = float("inf") if step == 1 else 1.0
            weight.backward(gradient)
            optimizer.step()
            counts.append(optimizer.nonfinite_chunks)
        optimizer.close()
        return counts

    assert on_ranks(SIZE, body) == [[0, 2, 2]] * SIZE


@pytest.mark.parametrize("options", [{"max_norm": -1.0}, {"max_norm": float("nan")}, {"rescale": float("inf")}])
def test_numbers_that_would_ruin_weights_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(NetsumError, match=next(iter(options))):
        RackOptimizer(make_model().parameters(), "sgd", lr=0.1, **options)


def test_another_optimizers_state_is_refused_and_nothing_is_changed(network: RackNetwork) -> None:
    fresh(network)
    theirs = torch.optim.SGD(make_model().parameters(), lr=7.0).state_dict()

    def body(rank: int) -> float:
        optimizer = make_optimizer(network, rank, make_model().parameters(), "adam", lr=1e-2)
        with pytest.raises(NetsumError, match="another optimizer than Adam: its parameter group 0 has no betas, eps"):
            optimizer.load_state_dict(theirs)
        optimizer.close()
        return float(optimizer.param_groups[0]["lr"])

    assert on_ranks(SIZE, body) == [1e-2] * SIZE


def test_optimizers_without_a_service_draw_one_and_none_is_held_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = HashStore()
    drawn = itertools.count(1)
    monkeypatch.setattr(client, "_drawn", drawn)
    first, second = client.agree_on_service(None, store), client.agree_on_service(None, store)
    assert first.name != second.name
    monkeypatch.setattr(client, "_drawn", itertools.count(1))  # as on another rank
    assert (client.agree_on_service(None, store), client.agree_on_service(None, store)) == (first, second)
    held = client.RackClient(0, 1, first, 1.0, lambda: None)  # type: ignore[arg-type, return-value]
    monkeypatch.setitem(client._held, first.name, held)
    with pytest.raises(NetsumError, match=r"has a RackOptimizer of service .* already"):
        client.connect(first, 1.0)


def test_an_optimizer_that_is_refused_leaves_its_service_to_the_next(
    network: RackNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh(network)
    trained = threading.Barrier(SIZE)

    def body(rank: int) -> None:
        model = make_model()
        optimizer = make_optimizer(network, rank, model.parameters(), "sgd", lr=0.1)
        backward(model, 0, rank)
        optimizer.step()
        optimizer.close()
        trained.wait()
        other, refused = torch.nn.Linear(8, 4), network.client(rank)
        monkeypatch.setitem(client._held, f"of rank {rank}", refused)
        refused.service = replace(refused.service, name=f"of rank {rank}")  # as in a process of its own
        with pytest.raises(NetsumError, match="holds another model"):
            RackOptimizer(other.parameters(), "sgd", lr=0.1, client=refused)
        assert refused.service.name not in client._held
        other(torch.ones(8)).sum().backward()  # its hooks are gone as well
        again = make_optimizer(network, rank, make_model().parameters(), "sgd", lr=0.1)
        assert again.step_number == 1
        again.close()

    on_ranks(SIZE, body)


def test_a_half_precision_model_has_float32_masters(network: RackNetwork) -> None:
    """Steps too small for bfloat16 count all the same."""
    fresh(network)

    def body(rank: int) -> dict[int, Any]:
        model = make_model(torch.bfloat16)
        optimizer = make_optimizer(network, rank, model.parameters(), "sgd", lr=1e-4)
        for step in range(3):
            optimizer.zero_grad()
            backward(model, step, rank)
            optimizer.step()
        state = optimizer.state_dict()["state"]
        for number, parameter in enumerate(model.parameters()):
            assert torch.equal(state[number]["master"].to(torch.bfloat16), parameter)
        optimizer.close()
        return state

    state = on_ranks(SIZE, body)[0]
    first = next(make_model(torch.bfloat16).parameters())
    assert not torch.equal(state[0]["master"], first.float())


def test_gradients_that_are_changed_after_they_were_pushed_are_an_error(network: RackNetwork) -> None:
    fresh(network)

    def body(rank: int) -> None:
        model = make_model()
        optimizer = make_optimizer(network, rank, model.parameters(), "sgd", lr=0.1)
        backward(model, 0, rank)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        with pytest.raises(NetsumError, match=r"changed between backward and step.*max_norm="):
            optimizer.step()
        scaler = torch.amp.GradScaler("cpu")
        scaler.scale(torch.ones(()))
        with pytest.raises(NetsumError, match=r"GradScaler.*rescale=1/constant"):
            scaler.step(optimizer)
        with pytest.raises(NetsumError, match="groups cannot be added"):
            optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(3))]})
        optimizer.close()

    on_ranks(SIZE, body)


def test_changed_weights_are_an_error_until_they_are_written(network: RackNetwork) -> None:
    fresh(network)
    pretrained = {name: torch.full_like(value, 0.25) for name, value in MODEL.state_dict().items()}

    def body(rank: int) -> torch.nn.Module:
        model = make_model()
        with make_optimizer(network, rank, model.parameters(), "sgd", lr=0.1) as optimizer:
            model.load_state_dict(pretrained)
            with pytest.raises(NetsumError, match=r"parameter \d+ was changed outside of step.*write_weights"):
                backward(model, 0, rank)
            optimizer.write_weights()
            optimizer.zero_grad()
            backward(model, 0, rank)
            optimizer.step()
            kept = copy.deepcopy(model)
            optimizer.zero_grad()
            next(model.parameters()).data.clamp_(0, 0)
            with pytest.raises(NetsumError, match="parameter 0 was changed outside"):
                backward(model, 1, rank)
            optimizer.write_weights()
            backward(model, 1, rank)
            with torch.no_grad():
                next(model.parameters()).clamp_(0, 0)
            with pytest.raises(NetsumError, match="parameter 0 was changed outside"):
                optimizer.step()
            model.half()
            with pytest.raises(NetsumError, match=r"now has \d+ elements of torch.float16"):
                optimizer.write_weights()
        return kept

    start = make_model()
    start.load_state_dict(pretrained)
    close_to(on_ranks(SIZE, body)[0], train_alone(lambda params: torch.optim.SGD(params, lr=0.1), 1, start)[0])


def test_parameters_that_share_memory_and_invalid_servers_are_refused() -> None:
    memory = torch.zeros(6)
    with pytest.raises(NetsumError, match="parameters 0 and 2 share memory"):
        layout.layout_of([{"params": [memory[:4], torch.zeros(2), memory[2:]]}])
    with pytest.raises(NetsumError, match="server=7; use a RackService, NAME or NAME:NONCE"):
        client.agree_on_service(7, None)  # type: ignore[arg-type]
    with pytest.raises(NetsumError, match="workers=-5; use 0 or more"):
        client.connect("mine", 1.0, workers=-5)


def test_frozen_parameters_are_not_stepped_until_they_are_thawed(network: RackNetwork) -> None:
    fresh(network)

    def train(model: torch.nn.Module, make: Any, losses: Any) -> None:
        frozen = list(model.parameters())[2:4]
        for parameter in frozen:
            parameter.requires_grad_(False)
        optimizer = make(model.parameters())
        for step in range(STEPS):
            if step == 2:
                frozen[0].requires_grad_(True)
            optimizer.zero_grad()
            losses(model, step)
            optimizer.step()
        assert torch.equal(frozen[1], list(MODEL.parameters())[3])

    def body(rank: int) -> torch.nn.Module:
        model = make_model()
        made: list[Any] = []

        def make(params: Any) -> Any:
            made.append(make_optimizer(network, rank, params, "adamw", lr=1e-2))
            return made[0]

        train(model, make, lambda model, step: backward(model, step, rank))
        made[0].zero_grad()
        next(model.parameters()).requires_grad_(False)
        with pytest.raises(NetsumError, match="parameters 0 were frozen after"):
            backward(model, 9, rank)
        made[0].close()
        return model

    models = on_ranks(SIZE, body)
    alone = make_model()
    means = lambda model, step: sum(  # noqa: E731
        (torch.nn.functional.mse_loss(model(x), y) for x, y in (batch(step, r, torch.float32) for r in range(SIZE))),
        torch.zeros(()),
    )
    train(alone, lambda p: torch.optim.AdamW(p, lr=1e-2), lambda model, step: (means(model, step) / SIZE).backward())
    close_to(models[0], alone)


def test_gradients_accumulate_only_under_no_sync(network: RackNetwork) -> None:
    fresh(network)

    def body(rank: int) -> torch.nn.Module:
        model = make_model()
        optimizer = make_optimizer(network, rank, model.parameters(), "sgd", lr=0.1, average=False)
        optimizer.zero_grad()
        with optimizer.no_sync():
            backward(model, 0, rank)
        backward(model, 1, rank)
        optimizer.step()
        kept = copy.deepcopy(model)
        optimizer.zero_grad()
        backward(model, 2, rank)
        with pytest.raises(NetsumError, match="no_sync"):
            backward(model, 3, rank)
        optimizer.close()
        return kept

    models = on_ranks(SIZE, body)
    alone = make_model()
    for step in range(2):
        for rank in range(SIZE):
            backward(alone, step, rank)
    torch.optim.SGD(alone.parameters(), lr=0.1).step()
    close_to(models[0], alone)


def test_after_an_error_ranks_rejoin_and_repeat_from_the_last_step(network: RackNetwork) -> None:
    fresh(network)
    failed, told = threading.Event(), []

    def body(rank: int) -> torch.nn.Module:
        model = make_model()
        optimizer = make_optimizer(network, rank, model.parameters(), "adam", lr=1e-2)
        step = optimizer.step_number
        while step < STEPS:
            try:
                optimizer.zero_grad()
                backward(model, step, rank)
                if step == 2 and rank == 1 and not failed.is_set():
                    failed.set()
                    network.sessions[1].fail(5, "the rack server has been away")
                optimizer.step()
                step = optimizer.step_number
            except LostError as error:
                told.append(str(error))
                step = optimizer.rejoin()
        optimizer.close()
        return model

    models = on_ranks(SIZE, body)
    assert len(told) == SIZE
    assert all("the rack server has been away" in text for text in told)
    close_to(models[0], models[1], rtol=0, atol=0)
    close_to(models[0], train_alone(lambda params: torch.optim.Adam(params, lr=1e-2), STEPS)[0])


def test_another_models_service_is_refused(network: RackNetwork) -> None:
    fresh(network)

    def body(rank: int) -> None:
        model = make_model()
        optimizer = make_optimizer(network, rank, model.parameters(), "sgd", lr=0.1)
        backward(model, 0, rank)
        optimizer.step()
        optimizer.close()
        longer = torch.nn.Sequential(make_model(), torch.nn.Linear(20, 20))
        for other in (torch.nn.Linear(8, 8), longer):
            with pytest.raises(NetsumError, match="holds another model"):
                make_optimizer(network, rank, other.parameters(), "sgd", lr=0.1)

    on_ranks(SIZE, body)


def test_what_the_server_refuses_is_told_from_a_loss_on_every_rank(network: RackNetwork) -> None:
    fresh(network)

    def body(rank: int) -> None:
        joined = network.client(rank)
        with pytest.raises(RefusedError, match="no weights have been written for this key"):
            joined.wait(joined.submit(Announcement(Action.PULL, 99, 8), target=torch.empty(8)))
        joined.close()

    on_ranks(SIZE, body)


@pytest.mark.parametrize(("first", "then"), [("adam", "sgd"), ("sgd", "adam")])
def test_a_service_with_another_optimizers_state_is_refused(network: RackNetwork, first: str, then: str) -> None:
    fresh(network)
    options = {"adam": {"lr": 0.1}, "sgd": {"lr": 0.1, "momentum": 0.9}}

    def body(rank: int) -> None:
        model = make_model()
        optimizer = make_optimizer(network, rank, model.parameters(), first, **options[first])
        backward(model, 0, rank)
        optimizer.step()
        optimizer.close()
        with pytest.raises(NetsumError, match=f"(?i)the state of {first}"):
            make_optimizer(network, rank, make_model().parameters(), then, **options[then])

    on_ranks(SIZE, body)


@pytest.mark.parametrize("layers", [(8, 8), (20, 20, 20, 20)])
def test_another_model_takes_a_service_over_that_has_taken_no_step(
    network: RackNetwork, layers: tuple[int, ...]
) -> None:
    fresh(network)

    def body(rank: int) -> tuple[torch.nn.Module, int]:
        make_optimizer(network, rank, make_model().parameters(), "sgd", lr=0.1).close()
        torch.manual_seed(rank)
        other = torch.nn.Sequential(*(torch.nn.Linear(one, two) for one, two in itertools.pairwise(layers)))
        optimizer = make_optimizer(network, rank, other.parameters(), "sgd", lr=0.1)
        other(torch.ones(layers[0])).sum().backward()
        optimizer.step()
        optimizer.close()
        return other, optimizer.step_number

    (one, step), (two, _) = on_ranks(SIZE, body)
    close_to(one, two, rtol=0, atol=0)
    assert step == 1
