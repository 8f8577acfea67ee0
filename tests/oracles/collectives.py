"""What collectives and messages of ``tests.generators.collective_programs`` bring, in plain torch and fractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hostagent.protocol.dtypes import DType
from hostagent.protocol.quantizer.blocks import error_bound
from tests.generators.collective_programs import SUMS, Step
from tests.oracles.exact_sums import rounded_sum

HALF_DIGIT = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
SMALLEST = {"float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
LARGEST_FLOAT16 = 65000
SPECIAL = (np.nan, np.inf, -np.inf)


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def values(rng: np.random.Generator, dtype: str, count: int, special: bool) -> Tensor:
    """Random elements; floats of many magnitudes, with zeros, and NaN and Inf where ``special``."""
    kind: torch.dtype = getattr(torch, dtype)
    if kind.is_complex:
        parts = values(rng, name_of(kind.to_real()), 2 * count, special)
        return torch.view_as_complex(parts.view(count, 2))
    if kind == torch.bool:
        return torch.from_numpy(rng.random(count) < 0.5)
    if not kind.is_floating_point:
        limits = torch.iinfo(kind)
        return torch.from_numpy(rng.integers(limits.min, limits.max, count, np.dtype(dtype), endpoint=True))
    numbers = rng.standard_normal(count) * 2.0 ** float(rng.integers(-8, 8))
    if kind == torch.float64:
        numbers *= 2.0 ** rng.integers(-30, 30, count)
    numbers[rng.random(count) < 0.1] = 0
    if special and count:
        for value in rng.choice(SPECIAL, int(rng.integers(1, 4))):
            numbers[rng.integers(count)] = value
    return torch.from_numpy(numbers).to(kind)


@lru_cache(maxsize=64)
def inputs_of(step: Step, size: int) -> tuple[tuple[Tensor, ...], ...]:
    """The tensors that each rank gives, flat; a rank that gives none has what its output holds before."""
    n, counts = size, step.counts
    lengths = {
        "all_gather": lambda rank: [counts[rank]],
        "reduce_scatter_single": lambda rank: [n * counts[0]],
        "scatter": lambda rank: [counts[0]] * n,
        "all_to_all": lambda rank: counts[rank * n : (rank + 1) * n],
        "all_to_all_single": lambda rank: counts[rank * n : (rank + 1) * n],
        "messages": lambda rank: [letter.count if letter.source == rank else 0 for letter in step.letters],
    }.get(step.call, lambda rank: counts)
    is_product = step.operator == "PRODUCT" and step.dtype.startswith("complex")
    special = np.random.default_rng(step.seed).random() < 0.2 and not is_product
    given = []
    for rank in range(n):
        rng = np.random.default_rng((step.seed, rank))
        here = special and rng.random() < 0.7
        given.append(tuple(values(rng, dtype_of(step, at), count, here) for at, count in enumerate(lengths(rank))))
    return tuple(given)


def dtype_of(step: Step, tensor: int) -> str:
    """Of a list of tensors; those of a coalesced sum are of two types."""
    is_second = step.call == "all_reduce_coalesced" and tensor % 2 == 1 and step.operator in SUMS
    return "float32" if is_second else step.dtype


def factor_of(step: Step) -> float:
    """Of PREMUL_SUM."""
    return (0.5, -2.0, 0.3)[step.seed % 3]


@dataclass(slots=True)
class Expected:
    """A virtual tensor (of complex numbers that need not be exact, their parts), and how far off each element may be;
    None: not at all."""

    whole: Tensor
    tolerance: np.ndarray[Any, Any] | None = None

    def problem(self, got: Tensor, first: int = 0) -> str:
        """What is wrong with elements ``first`` and on."""
        if got.dtype.is_complex and not self.whole.dtype.is_complex:
            return self.problem(torch.view_as_real(got).reshape(-1), 2 * first)
        wanted = self.whole[first : first + got.numel()]
        if self.tolerance is None:
            alike = same(got, wanted)
        else:
            with np.errstate(invalid="ignore", over="ignore"):
                alike = self._close(got, wanted, self.tolerance[first : first + got.numel()])
        if bool(alike.all()):
            return ""
        at = int((~alike).nonzero()[0])
        return f"element {at} of {got.numel()} is {got[at].item()!r}, should be {wanted[at].item()!r}"

    def _close(self, got: Tensor, wanted: Tensor, allowed: np.ndarray[Any, Any]) -> Tensor:
        numbers, should = got.to(torch.float64).numpy(), wanted.numpy()
        equal = (numbers == should) | (np.isnan(numbers) & np.isnan(should))
        near = np.isfinite(should) & (np.abs(numbers - should) <= allowed)
        if got.dtype == torch.float16:
            near |= np.isinf(numbers) & (np.abs(should) > LARGEST_FLOAT16)
        return torch.from_numpy(equal | near)


def same(got: Tensor, wanted: Tensor) -> Tensor:
    """Where two tensors are equal, NaN with NaN."""
    if got.dtype.is_floating_point or got.dtype.is_complex:
        return (got == wanted) | (got.isnan() & wanted.isnan())
    return got == wanted


@lru_cache(maxsize=64)
def reduced(step: Step, size: int, exact: bool, lanes: int) -> tuple[Expected, ...]:
    """What a reducing step makes of its virtual tensors: one for each tensor, of reduce_scatter one of all parts.

    ``lanes``: elements that share an exponent, which says how far off a sum of floats may be.
    """
    given = inputs_of(step, size)
    if step.call == "all_reduce_coalesced":
        return coalesced(step, given, exact, lanes)
    return (reduction(step, [torch.cat(tensors) for tensors in given], exact, lanes),)


def coalesced(step: Step, given: Sequence[Sequence[Tensor]], exact: bool, lanes: int) -> tuple[Expected, ...]:
    """Tensors of one type share chunks, where the network adds."""
    if step.operator == "PREMUL_SUM" or step.operator not in (*SUMS, "MIN", "MAX"):
        return tuple(reduction(step, list(tensors), exact, lanes) for tensors in zip(*given, strict=True))
    found: dict[int, Expected] = {}
    for dtype in {tensor.dtype for tensor in given[0]}:
        places = [at for at, tensor in enumerate(given[0]) if tensor.dtype == dtype]
        whole = reduction(step, [torch.cat([tensors[at] for at in places]) for tensors in given], exact, lanes)
        first = 0
        for at in places:
            numbers = given[0][at].numel() * (1 if whole.whole.dtype.is_complex or not dtype.is_complex else 2)
            part = slice(first, first := first + numbers)
            found[at] = Expected(whole.whole[part], None if whole.tolerance is None else whole.tolerance[part])
    return tuple(found[at] for at in range(len(given[0])))


def reduction(step: Step, given: list[Tensor], exact: bool, lanes: int) -> Expected:
    """``given``: one flat tensor of each rank."""
    operator, dtype = step.operator, given[0].dtype
    if operator == "PREMUL_SUM":
        given, operator = [(tensor * factor_of(step)).to(dtype) for tensor in given], "SUM"
    if operator in SUMS and dtype.is_complex:
        whole = float_sum([torch.view_as_real(tensor).reshape(-1) for tensor in given], operator, exact, lanes)
        if whole.tolerance is None:
            return Expected(torch.view_as_complex(whole.whole.view(-1, 2)))
        return whole
    if operator in SUMS and dtype.is_floating_point:
        return float_sum(given, operator, exact, lanes)
    total = given[0].clone()
    for tensor in given[1:]:
        total = combined(operator, total, tensor)
    if operator == "AVG":
        total = torch.div(total, len(given), rounding_mode="trunc").to(dtype)
    if dtype.is_complex:  # PyTorch rounds a product otherwise in vectors of them
        size = total.abs().to(torch.float64).repeat_interleave(2).numpy() * len(given)
        return Expected(torch.view_as_real(total).reshape(-1).to(torch.float64), size * 4 * torch.finfo(dtype).eps)
    return Expected(total)


def combined(operator: str, one: Tensor, other: Tensor) -> Tensor:
    if one.dtype == torch.bool:
        if operator == "BXOR":
            return one ^ other
        return one | other if operator in ("SUM", "MAX", "BOR") else one & other
    combine: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "SUM": torch.add,
        "AVG": torch.add,
        "MIN": torch.minimum,
        "MAX": torch.maximum,
        "PRODUCT": torch.mul,
        "BAND": torch.bitwise_and,
        "BOR": torch.bitwise_or,
        "BXOR": torch.bitwise_xor,
    }
    return combine[operator](one, other)


def float_sum(given: list[Tensor], operator: str, exact: bool, lanes: int) -> Expected:
    """In block floating point (PROTOCOL.md, section 8), or rounded once."""
    n, dtype = len(given), given[0].dtype
    divisor = n if operator == "AVG" else 1
    floats: np.ndarray[Any, Any] = torch.stack(given).to(torch.float64).numpy()
    if exact or dtype == torch.float64:
        kind = DType[name_of(dtype).upper()]
        sums = [rounded_sum(column, kind, divisor) for column in floats.T.tolist()]
        return Expected(torch.tensor(sums, dtype=torch.float64).to(dtype))
    with np.errstate(invalid="ignore"):
        total = floats.sum(0) / divisor
    magnitude = np.where(np.isfinite(floats), np.abs(floats), 0).max(0, initial=0)
    bounds = np.zeros(len(total))
    for first in range(0, len(total), lanes):
        largest = float(magnitude[first : first + lanes].max(initial=0))
        if largest:
            bounds[first : first + lanes] = error_bound(n, int(np.frexp(largest)[1])) / divisor
    name = name_of(dtype)
    rounding = np.abs(np.nan_to_num(total, posinf=0, neginf=0)) * HALF_DIGIT[name] * 1.01
    return Expected(torch.from_numpy(total), bounds + rounding + SMALLEST[name])
