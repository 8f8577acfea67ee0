"""Block floating point on a device: exponents of chunks, elements to int32 lanes, summed lanes to elements.

The same bits as `protocol.quantizer.blocks` and, with two elements in a lane, `packed` for finite numbers (PROTOCOL.md,
sections 8.1 and 8.10). Everything is calculated in float64, in which products with the scale are exact, so that there
is one path for all scales. Lanes are in the machine's byte order here.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from hostagent.protocol.quantizer.blocks import EXPONENT_NOT_FINITE, EXPONENT_ZERO, LEAD_BITS
from hostagent.protocol.quantizer.packed import SUM_BITS

INFINITY_BITS = 0x7F800000
SMALLEST_NORMAL_BITS = 0x00800000
HALF_BITS = 16
"""Of a lane with two elements."""


class BlockKernels(Protocol):
    """Flat, contiguous tensors of one device. ``chunk``: elements with one exponent, the last chunk may have fewer."""

    def exponents(self, values: Tensor, chunk: int, out: Tensor) -> None:
        """The exponent of every chunk of float32, float16 or bfloat16 ``values``, to int32 ``out``."""

    def quantize(self, values: Tensor, exponents: Tensor, chunk: int, workers_log2: int, out: Tensor) -> None:
        """Lanes of ``values`` to int32 ``out``, by the agreed exponents, none of which is EXPONENT_NOT_FINITE."""

    def dequantize(
        self, lanes: Tensor, exponents: Tensor, chunk: int, workers_log2: int, divisor: int, out: Tensor
    ) -> None:
        """Summed lanes, divided by ``divisor``, to ``out`` of a float type, rounded once."""

    def pack(self, values: Tensor, exponents: Tensor, chunk: int, workers_log2: int, out: Tensor) -> None:
        """As ``quantize``, two elements in a lane: ``out`` has `lanes_of` lanes."""

    def unpack(
        self, lanes: Tensor, exponents: Tensor, chunk: int, workers_log2: int, divisor: int, out: Tensor
    ) -> None:
        """As ``dequantize``, of lanes with two elements each."""


def lanes_of(elements: int, chunk: int) -> int:
    """How many lanes packed elements take: of a last chunk that has fewer elements, all its first half's."""
    whole = elements // chunk
    return whole * (chunk // 2) + min(elements - whole * chunk, chunk // 2)


class TorchKernels:
    """In torch's operations, for any device."""

    def exponents(self, values: Tensor, chunk: int, out: Tensor) -> None:
        whole = values.numel() // chunk
        if whole:
            _exponents_of(values[: whole * chunk].view(whole, chunk), out[:whole])
        if whole * chunk < values.numel():
            _exponents_of(values[whole * chunk :].view(1, -1), out[whole:])

    def quantize(self, values: Tensor, exponents: Tensor, chunk: int, workers_log2: int, out: Tensor) -> None:
        for number, lanes in zip(
            _numbers(values, exponents, chunk, LEAD_BITS - workers_log2), _rows(out, chunk), strict=True
        ):
            lanes.copy_(number)

    def dequantize(
        self, lanes: Tensor, exponents: Tensor, chunk: int, workers_log2: int, divisor: int, out: Tensor
    ) -> None:
        _to_elements(_rows(lanes, chunk), exponents, chunk, LEAD_BITS - workers_log2, divisor, out)

    def pack(self, values: Tensor, exponents: Tensor, chunk: int, workers_log2: int, out: Tensor) -> None:
        lead, half = SUM_BITS - workers_log2, chunk // 2
        for number, lanes in zip(
            _numbers(values, exponents, chunk, lead), _rows(out, half, values.numel() // chunk), strict=True
        ):
            whole = number.clamp_(max=(1 << lead) - 1).int()
            lanes.copy_(whole[:, :half])
            upper = whole[:, half:]
            lanes[:, : upper.shape[1]] += upper << HALF_BITS

    def unpack(
        self, lanes: Tensor, exponents: Tensor, chunk: int, workers_log2: int, divisor: int, out: Tensor
    ) -> None:
        sums = []
        for lane, like in zip(_rows(lanes, chunk // 2, out.numel() // chunk), _rows(out, chunk), strict=True):
            lower = (lane << HALF_BITS) >> HALF_BITS
            upper = (lane - lower) >> HALF_BITS
            sums.append(torch.cat([lower, upper], 1)[:, : like.shape[1]])
        _to_elements(sums, exponents, chunk, SUM_BITS - workers_log2, divisor, out)


def _numbers(values: Tensor, exponents: Tensor, chunk: int, lead: int) -> list[Tensor]:
    """Elements times 2^(lead - exponent), rounded to integers, in float64 and in ``_rows``."""
    scale = _power_of_two(lead - exponents.long()).masked_fill_(exponents == EXPONENT_ZERO, 0)
    pairs = zip(_rows(values, chunk), _split(scale, values, chunk), strict=True)
    return [part.double().mul_(scales).round_() for part, scales in pairs]


def _to_elements(sums: list[Tensor], exponents: Tensor, chunk: int, lead: int, divisor: int, out: Tensor) -> None:
    """The inverse, divided by ``divisor``."""
    unit = _power_of_two(exponents.long() - lead).masked_fill_(exponents == EXPONENT_ZERO, 0)
    for part, values, units in zip(sums, _rows(out, chunk), _split(unit, out, chunk), strict=True):
        exact = part.double().mul_(units).div_(divisor)
        values.copy_(exact.float() if out.dtype is torch.float32 else _rounded_to_odd(exact))


def _rows(flat: Tensor, chunk: int, whole: int | None = None) -> list[Tensor]:
    """The full chunks as rows, or the first ``whole`` of them, and what is left as one."""
    end = (flat.numel() // chunk if whole is None else whole) * chunk
    parts = [flat[:end].view(-1, chunk), flat[end:].view(1, -1)]
    return [part for part in parts if part.numel()]


def _split(by_chunk: Tensor, like: Tensor, chunk: int) -> list[Tensor]:
    """A number for each chunk, as columns beside ``_rows``."""
    whole = like.numel() // chunk
    return [part for part in (by_chunk[:whole].view(-1, 1), by_chunk[whole:].view(-1, 1)) if part.numel()]


def _exponents_of(rows: Tensor, out: Tensor) -> None:
    bits = rows.float().view(torch.int32).bitwise_and(0x7FFFFFFF).amax(1)
    # of a subnormal: the exponent of its significand, an integer that float32 holds exactly
    subnormal = (bits.clamp(max=SMALLEST_NORMAL_BITS).float().view(torch.int32) >> 23) - (126 + 149)
    exponent = torch.where(bits >= SMALLEST_NORMAL_BITS, (bits >> 23) - 126, subnormal)
    exponent = exponent.masked_fill(bits == 0, EXPONENT_ZERO)
    out.copy_(exponent.masked_fill(bits >= INFINITY_BITS, EXPONENT_NOT_FINITE))


def _power_of_two(exponents: Tensor) -> Tensor:
    """float64; of the special exponents something that is not used."""
    return ((exponents.clamp(-1022, 1023) + 1023) << 52).view(torch.float64)


def _rounded_to_odd(exact: Tensor) -> Tensor:
    """float64 to float32, rounded to odd: for another rounding, to a narrower type."""
    nearest = exact.float()
    back = nearest.double()
    bits = nearest.view(torch.int32)
    bits = bits - (back.abs() > exact.abs()).int()
    return torch.where(back == exact, nearest.view(torch.int32), bits | 1).view(torch.float32)
