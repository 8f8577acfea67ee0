"""Which parameters make a key of the server, and in what order keys are pushed. The same on every rank.

A large parameter is a key by itself: its gradient is sent from where autograd left it, its weights are written where
they lie. Small ones of one group and type share a key, so that a model's many biases don't cost a round trip each; they
are copied into one run of memory and back. A frozen one is a key by itself, which is not pushed until it is thawed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from hostagent.torch_backend.errors import RefusedError
from hostagent.torch_backend.tensors import SMALL_FLOATS, check_movable, dtype_name

PACKED_BELOW = 16_384
"""Elements: from 64 KB on, what copying saves is less than what it costs."""
PACK_ELEMENTS = 65_536
"""Elements from which on a key of small parameters is full: it can only be pushed when its last one is ready."""
MOST_KEYS = 65_536


@dataclass(frozen=True, slots=True)
class Part:
    """A parameter's place in a key."""

    index: int
    """The parameter's number in torch's `state_dict`."""
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class KeyLayout:
    """One key: elements of the same group and type."""

    key: int
    group: int
    dtype: torch.dtype
    parts: tuple[Part, ...]

    @property
    def elements(self) -> int:
        """Elements of all parts together."""
        return self.parts[-1].first + self.parts[-1].count

    @property
    def is_packed(self) -> bool:
        """Are its parameters copied into one run of memory?"""
        return len(self.parts) > 1


def layout_of(groups: Sequence[dict[str, Any]]) -> list[KeyLayout]:
    """The keys of an optimizer's parameter groups, in the order in which backward is likely to finish them.

    Raises RefusedError for parameters with memory that cannot be sent as it is.
    """
    numbered = [(group, parameter) for group, held in enumerate(groups) for parameter in held["params"]]
    found: list[tuple[int, int, list[int]]] = []  # (lowest index, group, indices in order)
    check_apart([parameter for _, parameter in numbered])
    open_packs: dict[tuple[int, torch.dtype], tuple[int, list[int]]] = {}
    for index in reversed(range(len(numbered))):
        group, parameter = numbered[index]
        check_parameter(parameter, index)
        if parameter.numel() >= PACKED_BELOW or not parameter.requires_grad:
            found.append((index, group, [index]))
            continue
        size, members = open_packs.get((group, parameter.dtype), (0, []))
        members.append(index)
        open_packs[group, parameter.dtype] = (size + parameter.numel(), members)
        if size + parameter.numel() >= PACK_ELEMENTS:
            found.append((index, group, open_packs.pop((group, parameter.dtype))[1]))
    found += [(members[-1], group, members) for (group, _), (_, members) in open_packs.items()]
    ordered = sorted((entry for entry in found if _elements(entry[2], numbered)), key=lambda entry: -entry[0])
    if len(ordered) > MOST_KEYS:
        raise RefusedError(f"netsum's RackOptimizer: {len(ordered)} large parameters; a service has {MOST_KEYS} keys")
    return [_key(number, group, members, numbered) for number, (_, group, members) in enumerate(ordered)]


def _elements(members: list[int], numbered: Sequence[tuple[int, Tensor]]) -> int:
    return sum(numbered[index][1].numel() for index in members)


def _key(key: int, group: int, members: list[int], numbered: Sequence[tuple[int, Tensor]]) -> KeyLayout:
    parts, first = [], 0
    for index in members:
        count = numbered[index][1].numel()
        if count:
            parts.append(Part(index, first, count))
        first += count
    return KeyLayout(key, group, numbered[members[0]][1].dtype, tuple(parts))


def check_parameter(parameter: Tensor, index: int) -> None:
    """Refuse parameters of unsupported types, or without contiguous memory."""
    what = f"RackOptimizer (parameter {index})"
    check_movable(parameter, what)
    if parameter.dtype not in SMALL_FLOATS:
        names = ", ".join(str(dtype).removeprefix("torch.") for dtype in SMALL_FLOATS)
        raise RefusedError(f"netsum's {what} is {dtype_name(parameter)}; the server steps {names}")
    if not is_dense(parameter):
        raise RefusedError(f"netsum's {what} does not fill one run of memory: call .contiguous() before making it one")


def check_apart(parameters: Sequence[Tensor]) -> None:
    """Refuse parameters that share memory: each would be stepped by itself, and the last to come would win."""
    spans = sorted(
        (parameter.data_ptr(), parameter.data_ptr() + parameter.numel() * parameter.element_size(), index)
        for index, parameter in enumerate(parameters)
        if parameter.numel() and parameter.device.type == "cpu"
    )
    for (_, end, one), (start, _, other) in pairwise(spans):
        if start < end:
            raise RefusedError(f"netsum's RackOptimizer: parameters {one} and {other} share memory; give one of them")


def is_dense(tensor: Tensor) -> bool:
    """Do the elements fill one run of memory, in whatever order of dimensions?"""
    expected = 1
    for stride, size in sorted((s, n) for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def flat(tensor: Tensor) -> Tensor:
    """A dense tensor's memory as one dimension, in memory order."""
    return tensor.detach().as_strided((tensor.numel(),), (1,))
