"""Block floating point on a device: exponents of chunks, elements to int32 lanes, summed lanes to elements.

The same bits as `protocol.quantizer.blocks` for finite numbers (PROTOCOL.md, section 8.1). Everything is calculated in
float64, in which products with the scale are exact, so that there is one path for all scales. Lanes are in the
machine's byte order here.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from hostagent.protocol.quantizer.blocks import EXPONENT_NOT_FINITE, EXPONENT_ZERO, LEAD_BITS

INFINITY_BITS = 0x7F800000
SMALLEST_NORMAL_BITS = 0x00800000


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


class TorchKernels:
    """In torch's operations, for any device."""

    def exponents(self, values: Tensor, chunk: int, out: Tensor) -> None:
        whole = values.numel() // chunk
        if whole:
            _exponents_of(values[: whole * chunk].view(whole, chunk), out[:whole])
        if whole * chunk < values.numel():
            _exponents_of(values[whole * chunk :].view(1, -1), out[whole:])

    def quantize(self, values: Tensor, exponents: Tensor, chunk: int, workers_log2: int, out: Tensor) -> None:
        scale = _power_of_two((LEAD_BITS - workers_log2) - exponents.long()).masked_fill_(exponents == EXPONENT_ZERO, 0)
        for part, lanes, scales in zip(
            _rows(values, chunk), _rows(out, chunk), _split(scale, values, chunk), strict=True
        ):
            lanes.copy_(part.double().mul_(scales).round_())

    def dequantize(
        self, lanes: Tensor, exponents: Tensor, chunk: int, workers_log2: int, divisor: int, out: Tensor
    ) -> None:
        unit = _power_of_two(exponents.long() - (LEAD_BITS - workers_log2)).masked_fill_(exponents == EXPONENT_ZERO, 0)
        for part, values, units in zip(_rows(lanes, chunk), _rows(out, chunk), _split(unit, lanes, chunk), strict=True):
            exact = part.double().mul_(units).div_(divisor)
            values.copy_(exact.float() if out.dtype is torch.float32 else _rounded_to_odd(exact))


def _rows(flat: Tensor, chunk: int) -> list[Tensor]:
    """The full chunks as rows, and what is left as one."""
    whole = flat.numel() // chunk * chunk
    parts = [flat[:whole].view(-1, chunk), flat[whole:].view(1, -1)]
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
