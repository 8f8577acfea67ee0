"""Optimizer state between torch's ``state_dict`` and the server's keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from hostagent.protocol.served import Action, Announcement, Hyperparameters, ServedFlag
from hostagent.torch_backend.errors import RefusedError
from hostagent.torch_backend.rack.client import RackClient
from hostagent.torch_backend.rack.keys import LocalKey
from hostagent.torch_backend.rack.layout import flat

MASTER = "master"
"""The float32 weights of a half-precision parameter; torch's optimizers leave it alone."""

Names = Sequence[tuple[str, ...]]
"""torch's names of the state tensors, by parameter group."""
State = Mapping[int, Mapping[str, Any]]


class MakeAnnouncement(Protocol):
    """Makes the announcement of an operation on a key, with the current options."""

    def __call__(self, key: LocalKey, action: Action, **more: Any) -> Announcement: ...


def fetch(
    client: RackClient, keys: Sequence[LocalKey], names_of: Names, announce: MakeAnnouncement, step: int
) -> dict[int, dict[str, Any]]:
    """Every parameter's state, by torch's number and names; empty for those that were never stepped."""
    fetched: dict[int, dict[str, Any]] = {}
    for key in keys:
        updates = client.query(key.layout).updates
        names = names_of[key.layout.group] if updates else ()
        if key.layout.dtype is not torch.float32:
            names = (*names, MASTER)
        buffers = {name: torch.zeros(key.layout.elements) for name in names}
        tickets = []
        for number, (name, memory) in enumerate(buffers.items(), 1):
            buffer = 0 if name == MASTER else number
            pull = announce(key, Action.PULL, buffer=buffer, step=step)
            tickets.append(client.submit(pull, None, memory))
        for ticket in tickets:
            client.wait(ticket)
        for part, parameter in zip(key.layout.parts, key.parameters, strict=True):
            held: dict[str, Any] = {}
            if "exp_avg" in names:
                held["step"] = torch.tensor(float(updates))
            for name, memory in buffers.items():
                run = memory[part.first : part.first + part.count]
                held[name] = run.as_strided(parameter.shape, parameter.stride(), part.first).clone()
            if held:
                fetched[part.index] = held
    return dict(sorted(fetched.items()))


def check(held: State, keys: Sequence[LocalKey], names_of: Names) -> None:
    """Refuse a state that the keys can't take, before anything is sent."""
    for key in keys:
        names = names_of[key.layout.group]
        for part, parameter in zip(key.layout.parts, key.parameters, strict=True):
            for name in names:
                tensor = held.get(part.index, {}).get(name)
                if tensor is not None and tensor.shape != parameter.shape:
                    raise RefusedError(
                        f"netsum's RackOptimizer: {name} of parameter {part.index} has shape {tuple(tensor.shape)}, "
                        f"but the parameter has {tuple(parameter.shape)}"
                    )
        counts = {_updates(held.get(part.index, {}), names) for part in key.layout.parts}
        if len(counts) > 1:
            listed = ", ".join(str(part.index) for part in key.layout.parts)
            raise RefusedError(
                f"netsum's RackOptimizer: parameters {listed} share a key of the server, but not the number of "
                "their steps; put parameters with the same number into one parameter group"
            )


def _updates(held: Mapping[str, Any], names: Sequence[str]) -> int:
    """Number of steps in a parameter's state; SGD's state shows only whether there were any."""
    if "step" in held:
        return int(held["step"])
    return 1 if any(held.get(name) is not None for name in names) else 0


Writes = Sequence[tuple[LocalKey, int, str, int]]
"""Key, buffer, its name, and steps the key has had."""


def writes(keys: Sequence[LocalKey], names_of: Names, held: State) -> Writes:
    """The writes for `give`: state, and float32 weights if there are any."""
    todo = []
    for key in keys:
        names = names_of[key.layout.group]
        updates = _updates(held.get(key.layout.parts[0].index, {}), names)
        masters = [held.get(part.index, {}).get(MASTER) for part in key.layout.parts]
        todo += [(key, number, name, updates) for number, name in enumerate(names, 1)]
        if all(master is not None for master in masters) and key.layout.dtype is not torch.float32:
            todo.append((key, 0, MASTER, updates))
    return todo


def give(client: RackClient, todo: Writes, announce: MakeAnnouncement, held: State, step: int) -> None:
    """Write rank 0's state, and float32 weights where it has them, over the server's; the last WRITEs of a run."""
    for place, (key, buffer, name, updates) in enumerate(todo, 1):
        memory = _packed(key, [held.get(part.index, {}).get(name) for part in key.layout.parts])
        terms = Hyperparameters(flags=int(ServedFlag.MORE) if place < len(todo) else 0)
        write = announce(key, Action.WRITE, buffer=buffer, step=step, updates=updates, terms=terms)
        client.wait(client.submit(write, memory if client.rank == 0 else None, memory))


def _packed(key: LocalKey, tensors: Sequence[Tensor | None]) -> Tensor:
    """One state tensor of all of a key's parameters, in the order of their memory; zeros where there is none."""
    memory = torch.zeros(key.layout.elements)
    for part, parameter, tensor in zip(key.layout.parts, key.parameters, tensors, strict=True):
        if tensor is not None:
            in_order = torch.empty_like(parameter, dtype=torch.float32).copy_(tensor)
            memory[part.first : part.first + part.count] = flat(in_order)
    return memory
