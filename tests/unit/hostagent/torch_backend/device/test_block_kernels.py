"""The device's kernels, bit for bit beside those of the hosts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hostagent.protocol.dtypes import DType
from hostagent.protocol.quantizer.blocks import (
    EXPONENT_NOT_FINITE,
    EXPONENT_ZERO,
    dequantize,
    dequantize_to_odd,
    exponent_of,
    log2_ceiling,
    quantize,
)
from hostagent.protocol.quantizer.floats import narrow, widen
from hostagent.protocol.quantizer.packed import largest_number, pack, packed_exponent, unpack
from hostagent.torch_backend.device.block_kernels import BlockKernels, TorchKernels, lanes_of

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
CHUNK = 64


def kernels() -> list[tuple[BlockKernels, str]]:
    """What can run here; Triton's kernels on a GPU (or, with TRITON_INTERPRET=1, wherever Triton is installed)."""
    from importlib.util import find_spec
    from os import environ

    made: list[tuple[BlockKernels, str]] = [(TorchKernels(), "cpu")]
    if torch.cuda.is_available():
        made.append((TorchKernels(), "cuda"))
    if find_spec("triton") is not None and (torch.cuda.is_available() or environ.get("TRITON_INTERPRET") == "1"):
        from hostagent.torch_backend.device.triton_kernels import TritonKernels

        made.append((TritonKernels(), "cuda" if torch.cuda.is_available() else "cpu"))
    return made


KERNELS = pytest.mark.parametrize(("kernel", "device"), kernels())


def finite(dtype: torch.dtype, chunks: int, seed: int) -> torch.Tensor:
    """Chunks of every magnitude that a type has, with zeros, subnormals and the largest numbers."""
    draw = torch.Generator().manual_seed(seed)
    spread = {torch.float32: 140, torch.float16: 24, torch.bfloat16: 140}[dtype]
    level = torch.randint(-spread, 128 if dtype is not torch.float16 else 15, (chunks, 1), generator=draw)
    below = torch.randint(0, 40, (chunks, CHUNK), generator=draw)
    values = torch.randn(chunks, CHUNK, generator=draw, dtype=torch.float64) * 2.0 ** (level - below).double()
    values = values.to(dtype)
    values[torch.rand(values.shape, generator=draw) < 0.1] = 0.0
    values[0] = 0.0
    values[1] = -0.0
    tiny = torch.finfo(dtype).smallest_normal
    values[2] = torch.linspace(-tiny, tiny, CHUNK, dtype=torch.float64).to(dtype)
    values[3, ::2], values[3, 1::2] = torch.finfo(dtype).max, -torch.finfo(dtype).max
    values[4] = 0.0
    values[4, 5] = -torch.finfo(dtype).tiny * torch.finfo(dtype).eps  # the least subnormal
    flat = values.reshape(-1)[: chunks * CHUNK - 13]
    return torch.where(flat.isfinite(), flat, torch.ones_like(flat)).contiguous()


def host_floats(values: torch.Tensor) -> np.ndarray:
    """As float32, by the hosts' conversion."""
    wide = np.zeros(values.numel(), np.float32)
    widen(int(DType[str(values.dtype).removeprefix("torch.").upper()]), values.data_ptr(), wide.ctypes.data, len(wide))
    return wide


def host_exponents(values: torch.Tensor) -> list[int]:
    wide = host_floats(values)
    return [exponent_of(wide[i : i + CHUNK].ctypes.data, len(wide[i : i + CHUNK])) for i in range(0, len(wide), CHUNK)]


@KERNELS
@pytest.mark.parametrize("dtype", FLOATS)
def test_exponents(kernel: BlockKernels, device: str, dtype: torch.dtype) -> None:
    values = finite(dtype, 200, 1)
    values[10 * CHUNK + 3], values[11 * CHUNK] = torch.nan, -torch.inf
    values[12 * CHUNK], values[-1] = torch.inf, torch.nan
    out = torch.empty(200, dtype=torch.int32, device=device)
    kernel.exponents(values.to(device), CHUNK, out)
    expected = host_exponents(values)
    assert out.tolist() == expected
    assert {EXPONENT_ZERO, EXPONENT_NOT_FINITE} < set(expected)


@KERNELS
@pytest.mark.parametrize("workers", [1, 2, 3, 64, 1000])
@pytest.mark.parametrize("dtype", FLOATS)
def test_lanes(kernel: BlockKernels, device: str, dtype: torch.dtype, workers: int) -> None:
    """By the chunk's own exponent, and by larger ones that another rank's numbers may have."""
    values, k = finite(dtype, 200, workers), log2_ceiling(workers)
    draw = np.random.default_rng(workers)
    own = host_exponents(values)
    agreed = [e if e == EXPONENT_ZERO else min(128, e + int(draw.integers(0, 30)) * (i % 3)) for i, e in enumerate(own)]
    out = torch.empty(values.numel(), dtype=torch.int32, device=device)
    exponents = torch.tensor(agreed, dtype=torch.int32, device=device)
    kernel.quantize(values.to(device), exponents, CHUNK, k, out)
    wide, expected = host_floats(values), np.zeros(values.numel(), ">i4")
    for number, exponent in enumerate(agreed):
        part = slice(number * CHUNK, (number + 1) * CHUNK)
        quantize(wide[part].ctypes.data, expected[part].ctypes.data, len(wide[part]), exponent, k)
    assert np.array_equal(out.cpu().numpy(), expected)


@KERNELS
@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 64, 1000])
@pytest.mark.parametrize("dtype", FLOATS)
def test_results(kernel: BlockKernels, device: str, dtype: torch.dtype, divisor: int) -> None:
    """Of sums and averages, for every exponent that there is."""
    agreed = [EXPONENT_ZERO, *range(-148, 129)]
    draw, workers = np.random.default_rng(divisor), max(2, divisor)
    k, count = log2_ceiling(workers), len(agreed) * CHUNK - 5
    lanes = draw.integers(-(2**30), 2**30 + 1, count).astype(np.int32)
    lanes >>= draw.integers(0, 31, count).astype(np.int32)
    lanes[:CHUNK] = 0
    lanes[CHUNK::CHUNK] = 0
    lanes[CHUNK + 1 :: CHUNK] = 2**30
    out = torch.empty(count, dtype=dtype, device=device)
    exponents = torch.tensor(agreed, dtype=torch.int32, device=device)
    kernel.dequantize(torch.from_numpy(lanes).to(device), exponents, CHUNK, k, divisor, out)
    wire, expected = lanes.astype(">i4"), torch.empty(count, dtype=dtype)
    number_of = int(DType[str(dtype).removeprefix("torch.").upper()])
    for number, exponent in enumerate(agreed):
        part = wire[number * CHUNK : (number + 1) * CHUNK]
        held, target = np.zeros(len(part), np.float32), expected[number * CHUNK :].data_ptr()
        to_floats = dequantize if dtype is torch.float32 else dequantize_to_odd
        to_floats(part.ctypes.data, held.ctypes.data, len(part), exponent, k, divisor)
        narrow(number_of, held.ctypes.data, target, len(part))
    integer = torch.int32 if dtype is torch.float32 else torch.int16
    assert torch.equal(out.cpu().view(integer), expected.view(integer))


TAILS = pytest.mark.parametrize("missing", [0, 5, CHUNK // 2, CHUNK - 1])
"""How many elements the last chunk lacks: in its second half, all of that, all but one."""


@KERNELS
@TAILS
@pytest.mark.parametrize("workers", [1, 2, 31])
@pytest.mark.parametrize("dtype", FLOATS[1:])
def test_packed_lanes(kernel: BlockKernels, device: str, dtype: torch.dtype, workers: int, missing: int) -> None:
    count, k = 199 * CHUNK - missing, log2_ceiling(workers)
    values = finite(dtype, 200, workers)[:count].clone()
    values[20 * CHUNK : 21 * CHUNK] = 1 - torch.finfo(dtype).eps / 2  # of float16 and 31 ranks: rounded up to 2^10
    agreed = [e if e == EXPONENT_ZERO else min(128, e + (i % 3)) for i, e in enumerate(host_exponents(values))]
    agreed[20] = 0
    lanes = torch.empty(lanes_of(count, CHUNK), dtype=torch.int32, device=device)
    exponents = torch.tensor(agreed, dtype=torch.int32, device=device)
    kernel.pack(values.to(device), exponents, CHUNK, k, lanes)
    floats, expected = host_floats(values), np.zeros((len(agreed), CHUNK // 2), ">i4")
    for number, exponent in enumerate(agreed):
        part, wide = floats[number * CHUNK : (number + 1) * CHUNK], np.zeros(CHUNK, ">i4")
        quantize(part.ctypes.data, wide.ctypes.data, len(part), packed_exponent(exponent), k)
        pack(wide.ctypes.data, expected[number].ctypes.data, len(part), CHUNK // 2, k)
    assert np.array_equal(lanes.cpu().numpy(), expected.reshape(-1)[: len(lanes)])
    if dtype is torch.float16 and workers == 31:
        assert expected[20, 0] == largest_number(k) * 0x10001


@KERNELS
@TAILS
@pytest.mark.parametrize("divisor", [1, 3, 31])
@pytest.mark.parametrize("dtype", FLOATS[1:])
def test_packed_results(kernel: BlockKernels, device: str, dtype: torch.dtype, divisor: int, missing: int) -> None:
    agreed = [EXPONENT_ZERO, *range(-148, 129)]
    k, count, half = log2_ceiling(max(2, divisor)), len(agreed) * CHUNK - missing, CHUNK // 2
    draw = np.random.default_rng(divisor)
    lanes = draw.integers(-(2**31), 2**31, lanes_of(count, CHUNK)).astype(np.int32)
    lanes[:half] = 0
    out = torch.empty(count, dtype=dtype, device=device)
    exponents = torch.tensor(agreed, dtype=torch.int32, device=device)
    kernel.unpack(torch.from_numpy(lanes).to(device), exponents, CHUNK, k, divisor, out)
    wire, expected = np.zeros((len(agreed), half), ">i4"), torch.empty(count, dtype=dtype)
    wire.reshape(-1)[: len(lanes)] = lanes
    for number, exponent in enumerate(agreed):
        size = min(CHUNK, count - number * CHUNK)
        wide, held = np.zeros(CHUNK, ">i4"), np.zeros(CHUNK, np.float32)
        unpack(wire[number].ctypes.data, wide.ctypes.data, size, half)
        dequantize_to_odd(wide.ctypes.data, held.ctypes.data, size, packed_exponent(exponent), k, divisor)
        target = expected[number * CHUNK :].data_ptr()
        narrow(int(DType[str(dtype).removeprefix("torch.").upper()]), held.ctypes.data, target, size)
    assert torch.equal(out.cpu().view(torch.int16), expected.view(torch.int16))
