"""`BlockKernels` in Triton: one pass over memory each.

The functions of Triton have no annotations but its own: it reads them.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from hostagent.protocol.quantizer.blocks import LEAD_BITS
from hostagent.protocol.quantizer.packed import SUM_BITS
from hostagent.torch_backend.device.block_kernels import lanes_of

BLOCK = 1024
"""Elements of one program."""

ZERO = tl.constexpr(-(2**31))
NOT_FINITE = tl.constexpr(2**31 - 1)
ROUNDER = tl.constexpr(6755399441055744.0)
"""1.5 * 2^52: a float64 to which an integer is added by its last bits. What is below is rounded to nearest even."""


@triton.jit
def _widened(value):
    """To float32, exactly, bfloat16 by its bits: not every conversion of Triton keeps its subnormals."""
    if value.dtype == tl.bfloat16:
        wide = (value.to(tl.int16, bitcast=True).to(tl.int32) << 16).to(tl.float32, bitcast=True)
    else:
        wide = value.to(tl.float32)
    return wide


@triton.jit
def _narrowed(value, dtype: tl.constexpr):
    """From float32, to nearest even; not NaN."""
    if dtype == tl.bfloat16:
        bits = value.to(tl.int32, bitcast=True)
        short = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).to(tl.int16).to(tl.bfloat16, bitcast=True)
    else:
        short = value.to(dtype)
    return short


@triton.jit
def _exponents(values, out, count, chunk, BLOCK: tl.constexpr):
    number = tl.program_id(0).to(tl.int64)
    places = tl.arange(0, BLOCK)
    largest = tl.zeros((BLOCK,), tl.int32)
    for start in range(0, chunk, BLOCK):
        within = start + places
        mine = number * chunk + within
        value = tl.load(values + mine, mask=(within < chunk) & (mine < count), other=0.0)
        value = _widened(value)
        largest = tl.maximum(largest, value.to(tl.int32, bitcast=True) & 0x7FFFFFFF)
    bits = tl.max(largest, 0)
    subnormal = (bits.to(tl.float32).to(tl.int32, bitcast=True) >> 23) - 275
    exponent = tl.where(bits >= 0x00800000, (bits >> 23) - 126, subnormal)
    exponent = tl.where(bits == 0, ZERO, exponent)
    exponent = tl.where(bits >= 0x7F800000, NOT_FINITE, exponent)
    tl.store(out + number, exponent)


@triton.jit
def _power_of_two(exponent):
    limited = tl.minimum(tl.maximum(exponent.to(tl.int64), -1022), 1023)
    return ((limited + 1023) << 52).to(tl.float64, bitcast=True)


@triton.jit
def _number(values, place, inside, exponent, lead):
    """An element as an integer under its chunk's scale."""
    value = _widened(tl.load(values + place, mask=inside, other=0.0)).to(tl.float64)
    scale = tl.where(exponent == ZERO, 0.0, _power_of_two(lead - exponent.to(tl.int64)))
    return (value * scale + ROUNDER).to(tl.int64, bitcast=True).to(tl.int32)


@triton.jit
def _element(number, exponent, lead, divisor, TO_ODD: tl.constexpr):
    """The inverse, divided: float32."""
    unit = tl.where(exponent == ZERO, 0.0, _power_of_two(exponent.to(tl.int64) - lead))
    exact = number.to(tl.float64) * unit / divisor.to(tl.float64)
    nearest = exact.to(tl.float32)
    if TO_ODD:
        back = nearest.to(tl.float64)
        bits = nearest.to(tl.int32, bitcast=True)
        below = tl.where(tl.abs(back) > tl.abs(exact), bits - 1, bits)
        nearest = tl.where(back == exact, bits, below | 1).to(tl.float32, bitcast=True)
    return nearest


@triton.jit
def _quantize(values, exponents, out, count, chunk, lead, BLOCK: tl.constexpr):
    mine = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = mine < count
    exponent = tl.load(exponents + mine // chunk, mask=inside, other=0)
    tl.store(out + mine, _number(values, mine, inside, exponent, lead), mask=inside)


@triton.jit(do_not_specialize=["divisor"])
def _dequantize(lanes, exponents, out, count, chunk, lead, divisor, TO_ODD: tl.constexpr, BLOCK: tl.constexpr):
    mine = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = mine < count
    exponent = tl.load(exponents + mine // chunk, mask=inside, other=0)
    lane = tl.load(lanes + mine, mask=inside, other=0)
    element = _element(lane, exponent, lead, divisor, TO_ODD)
    tl.store(out + mine, _narrowed(element, out.dtype.element_ty), mask=inside)


@triton.jit
def _pack(values, exponents, out, count, lanes, half, lead, BLOCK: tl.constexpr):
    mine = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside, number = mine < lanes, mine // half
    exponent = tl.load(exponents + number, mask=inside, other=0)
    most = (1 << lead) - 1
    lower = mine + number * half
    upper = lower + half
    low = tl.minimum(_number(values, lower, inside, exponent, lead), most)
    high = tl.minimum(_number(values, upper, inside & (upper < count), exponent, lead), most)
    tl.store(out + mine, low + (high << 16), mask=inside)


@triton.jit(do_not_specialize=["divisor"])
def _unpack(lanes, exponents, out, count, size, half, lead, divisor, BLOCK: tl.constexpr):
    mine = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside, number = mine < size, mine // half
    exponent = tl.load(exponents + number, mask=inside, other=0)
    lane = tl.load(lanes + mine, mask=inside, other=0)
    low = (lane << 16) >> 16
    high = (lane - low) >> 16
    lower = mine + number * half
    upper = lower + half
    dtype = out.dtype.element_ty
    tl.store(out + lower, _narrowed(_element(low, exponent, lead, divisor, True), dtype), mask=inside)
    within = inside & (upper < count)
    tl.store(out + upper, _narrowed(_element(high, exponent, lead, divisor, True), dtype), mask=within)


class TritonKernels:
    """See `block_kernels.BlockKernels`."""

    def exponents(self, values: Tensor, chunk: int, out: Tensor) -> None:
        block = min(BLOCK, triton.next_power_of_2(chunk))
        _exponents[(out.numel(),)](values, out, values.numel(), chunk, BLOCK=block)

    def quantize(self, values: Tensor, exponents: Tensor, chunk: int, workers_log2: int, out: Tensor) -> None:
        count = values.numel()
        grid = (triton.cdiv(count, BLOCK),)
        _quantize[grid](values, exponents, out, count, chunk, LEAD_BITS - workers_log2, BLOCK=BLOCK)

    def dequantize(
        self, lanes: Tensor, exponents: Tensor, chunk: int, workers_log2: int, divisor: int, out: Tensor
    ) -> None:
        count, lead, to_odd = lanes.numel(), LEAD_BITS - workers_log2, out.dtype is not torch.float32
        grid = (triton.cdiv(count, BLOCK),)
        _dequantize[grid](lanes, exponents, out, count, chunk, lead, divisor, TO_ODD=to_odd, BLOCK=BLOCK)

    def pack(self, values: Tensor, exponents: Tensor, chunk: int, workers_log2: int, out: Tensor) -> None:
        count, lanes = values.numel(), lanes_of(values.numel(), chunk)
        grid = (triton.cdiv(lanes, BLOCK),)
        _pack[grid](values, exponents, out, count, lanes, chunk // 2, SUM_BITS - workers_log2, BLOCK=BLOCK)

    def unpack(
        self, lanes: Tensor, exponents: Tensor, chunk: int, workers_log2: int, divisor: int, out: Tensor
    ) -> None:
        count, size = out.numel(), lanes_of(out.numel(), chunk)
        grid = (triton.cdiv(size, BLOCK),)
        _unpack[grid](lanes, exponents, out, count, size, chunk // 2, SUM_BITS - workers_log2, divisor, BLOCK=BLOCK)
