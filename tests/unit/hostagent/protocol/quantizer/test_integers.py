"""Integers in lanes: wrap-around sums, order, limbs of 64-bit numbers, their two passes for MIN and MAX."""

from __future__ import annotations

import numpy as np
import pytest

from hostagent.protocol.dtypes import DType
from hostagent.protocol.quantizer import integers, long_integers

COUNT = 37
NUMPY = {DType.INT8: np.int8, DType.UINT8: np.uint8, DType.INT16: np.int16, DType.INT32: np.int32}


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def anything(dtype: type, seed: int, size: int = COUNT) -> np.ndarray:
    limits = np.iinfo(dtype)
    values = np.random.default_rng(seed).integers(limits.min, limits.max, size, dtype, endpoint=True)
    values[:2] = limits.min, limits.max
    return values


def lanes_of(dtype: DType, values: np.ndarray, complement: int) -> np.ndarray:
    lanes = np.empty(values.size, np.uint32)
    integers.integers_to_lanes(dtype, address(values), address(lanes), values.size, complement)
    return lanes.byteswap()


@pytest.mark.parametrize("dtype", NUMPY)
def test_sums_wrap_as_the_type_does(dtype: DType) -> None:
    ranks = [anything(NUMPY[dtype], seed) for seed in range(5)]
    total = sum((lanes_of(dtype, rank, 0) for rank in ranks), np.zeros(COUNT, np.uint32)).byteswap()
    result = np.empty(COUNT, NUMPY[dtype])
    integers.lanes_to_integers(dtype, address(total), address(result), COUNT, 0)
    with np.errstate(over="ignore"):
        assert (result == sum(ranks[1:], ranks[0].copy())).all()


@pytest.mark.parametrize("dtype", [*NUMPY, DType.INT64])
@pytest.mark.parametrize("divisor", [1, 2, 3, 64])
def test_quotients_are_truncated_towards_zero(dtype: DType, divisor: int) -> None:
    values = anything(NUMPY.get(dtype, np.int64), divisor)
    expected = [abs(int(value)) // divisor * (1 if value >= 0 else -1) for value in values]
    integers.divide_integers(dtype, address(values), COUNT, divisor)
    assert values.tolist() == expected


@pytest.mark.parametrize("dtype", NUMPY)
@pytest.mark.parametrize(("complement", "oracle"), [(0, np.maximum), (-1, np.minimum)])
def test_extremes(dtype: DType, complement: int, oracle: np.ufunc) -> None:
    ranks = [anything(NUMPY[dtype], seed) for seed in range(3)]
    best = np.maximum.reduce([lanes_of(dtype, rank, complement).view(np.int32) for rank in ranks]).byteswap()
    result = np.empty(COUNT, NUMPY[dtype])
    integers.lanes_to_integers(dtype, address(best), address(result), COUNT, complement)
    assert (result == oracle.reduce(ranks)).all()


@pytest.mark.parametrize("workers", [1, 3, 1024])
def test_limbs_add_up_modulo_2_to_the_64(workers: int) -> None:
    ranks = [anything(np.int64, seed) for seed in range(min(workers, 4))]
    ranks += [np.full(COUNT, -1, np.int64)] * (workers - len(ranks))
    stride = COUNT + 4
    total = np.zeros(3 * stride, np.uint32)
    for rank in ranks:
        lanes = np.zeros(3 * stride, np.uint32)
        long_integers.long_to_limbs(address(rank), address(lanes), COUNT, stride)
        total += lanes.byteswap()
    wire, result = total.byteswap(), np.empty(COUNT, np.int64)
    long_integers.limbs_to_long(address(wire), address(result), COUNT, stride)
    with np.errstate(over="ignore"):
        assert (result == sum(ranks[1:], ranks[0].copy())).all()


@pytest.mark.parametrize(("complement", "oracle"), [(0, np.maximum), (-1, np.minimum)])
@pytest.mark.parametrize("in_place", [False, True])
def test_two_passes_find_64_bit_extremes(complement: int, oracle: np.ufunc, in_place: bool) -> None:
    dtype = DType.INT64
    ranks = [anything(np.int64, seed) for seed in range(3)]
    ranks[1][5:15] = ranks[0][5:15] ^ 0x80000001  # equal high words: the low ones decide, also by their top bit
    ranks[2][10:20] = ranks[0][10:20]
    expected = oracle.reduce(ranks)
    outputs = ranks if in_place else [np.full(COUNT, 99, np.int64) for _ in ranks]
    for first_pass in (True, False):
        sent = np.empty((3, COUNT), np.uint32)
        for rank, output, lanes in zip(ranks, outputs, sent, strict=True):
            if first_pass:
                long_integers.high_words(dtype, address(rank), address(lanes), COUNT, complement)
            else:
                long_integers.low_words(address(output), address(lanes), COUNT)
        best = sent.byteswap().view(np.int32).max(0).byteswap()
        for rank, output in zip(ranks, outputs, strict=True):
            if first_pass:
                long_integers.settle_high_words(dtype, address(best), address(rank), address(output), COUNT, complement)
            else:
                long_integers.settle_low_words(dtype, address(best), address(output), COUNT, complement)
    assert all((output == expected).all() for output in outputs)
