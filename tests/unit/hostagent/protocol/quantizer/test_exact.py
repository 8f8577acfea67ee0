"""Exact sums: equal to math.fsum and to fractions, bit for bit, in every encoding, for any finite and other numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.protocol.dtypes import DType
from hostagent.protocol.quantizer import exact, formats
from hostagent.protocol.quantizer.blocks import EXPONENT_ZERO, log2_ceiling
from tests.labs.extent import tries
from tests.labs.protocol import NUMPY, as_float
from tests.oracles.exact_sums import FORMATS, rounded_sum, same

FLOATS = tuple(FORMATS)
Chunks = list[np.ndarray]


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def form_by_range(dtype: DType, chunks: Chunks) -> tuple[int, int]:
    """(form, unit) that the ranks agree on by the ranges of their chunks; limbs, even where words are shorter."""
    ranges = [exact.magnitude_range(dtype, address(chunk), len(chunk)) for chunk in chunks]
    special = max(each[2] for each in ranges)
    known = [each for each in ranges if each[0] != EXPONENT_ZERO]
    if not known:
        return 1 + exact.SPECIAL * special, formats.unit_exponent_of(dtype)
    unit = exact.least_unit(dtype, min(each[1] for each in known))
    bits = exact.limb_bits(log2_ceiling(len(chunks)))
    return exact.limbs_of(max(each[0] for each in known), unit, bits) + exact.SPECIAL * special, unit


def forms(dtype: DType, chunks: Chunks) -> list[tuple[int, int]]:
    """All forms in which these chunks can be sent, with their units."""
    unit, bits = formats.unit_exponent_of(dtype), exact.limb_bits(log2_ceiling(len(chunks)))
    whole = exact.limbs_of(formats.top_exponent_of(dtype), unit, bits) + exact.SPECIAL
    return [form_by_range(dtype, chunks), (whole, unit), (exact.WORDS, unit)]


def aggregate(dtype: DType, chunks: Chunks, form: int, unit: int, divisor: int = 1) -> np.ndarray:
    """What ranks and aggregator make of one chunk of each rank."""
    n, count = len(chunks), len(chunks[0])
    bits = exact.limb_bits(log2_ceiling(n))
    total = np.zeros(exact.width_of(dtype, form, n) * count, np.uint32)
    for rank, chunk in enumerate(chunks):
        lanes = np.zeros(total.size, np.uint32)
        if form == exact.WORDS:
            exact.write_words(dtype, address(chunk), address(lanes), count, count, rank)
        else:
            exact.write_limbs(dtype, address(chunk), address(lanes), count, count, form, unit, bits)
        total += lanes.byteswap()
    wire = total.byteswap()
    result: Any = np.empty(count, NUMPY[dtype])
    digits = np.full(exact.DIGITS_BYTES, 0xAA, np.uint8)
    if form == exact.WORDS:
        exact.sum_words(dtype, address(wire), count, n, address(result), count, divisor, address(digits))
    else:
        exact.sum_limbs(dtype, address(wire), count, address(result), count, form, unit, bits, divisor, address(digits))
    return result


def check(dtype: DType, chunks: Chunks, divisor: int = 1) -> None:
    """Every encoding, every element."""
    with np.errstate(invalid="ignore"):  # signalling NaN
        columns = np.array([as_float(chunk, dtype) for chunk in chunks]).T.tolist()
    wanted = [rounded_sum(column, dtype, divisor) for column in columns]
    for form, unit in forms(dtype, chunks):
        got = as_float(aggregate(dtype, chunks, form, unit, divisor), dtype).tolist()
        for i, (result, value) in enumerate(zip(got, wanted, strict=True)):
            assert same(result, value), f"form {form}: {columns[i]} / {divisor} is {result!r}, should be {value!r}"


def from_bits(dtype: DType, bits: list[int]) -> np.ndarray:
    kind = NUMPY[dtype]
    return np.array(bits, f"u{np.dtype(kind).itemsize}").view(kind)


@st.composite
def bit_patterns(draw: st.DrawFn) -> tuple[DType, Chunks, int]:
    """Any bits: subnormals, the largest numbers, infinities and NaN among them."""
    dtype = draw(st.sampled_from(FLOATS))
    n, count = draw(st.sampled_from([1, 2, 3, 4, 5, 7, 16, 33, 64])), draw(st.integers(1, 4))
    width = 8 * np.dtype(NUMPY[dtype]).itemsize
    precision, _, _ = FORMATS[dtype]
    infinity = ((1 << (width - precision)) - 1) << (precision - 1)
    near = st.sampled_from([0, 1, 1 << (precision - 1), infinity - 1, infinity, infinity + 1, infinity // 2])
    sign = st.sampled_from([0, 1 << (width - 1)])
    one = st.integers(0, (1 << width) - 1) | st.builds(lambda magnitude, s: magnitude | s, near, sign)
    rows = draw(st.lists(st.lists(one, min_size=count, max_size=count), min_size=n, max_size=n))
    return dtype, [from_bits(dtype, row) for row in rows], draw(st.sampled_from([1, n, 3, 1023]))


@given(bit_patterns())
@settings(max_examples=tries(100, 400), deadline=None)
def test_any_bits(case: tuple[DType, Chunks, int]) -> None:
    check(*case)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("workers", [2, 3, 4, 8, 64])
def test_usual_numbers_take_few_limbs_and_are_exact(dtype: DType, workers: int) -> None:
    random = np.random.default_rng(workers)
    chunks = [random.standard_normal(1020) for _ in range(workers)]
    if dtype == DType.BFLOAT16:
        chunks = [(chunk.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) for chunk in chunks]
    else:
        chunks = [chunk.astype(NUMPY[dtype]) for chunk in chunks]
    form, _ = form_by_range(dtype, chunks)
    assert form in {DType.FLOAT64: (3, 4), DType.FLOAT32: (2,)}.get(dtype, (1, 2))
    for divisor in (1, workers):
        check(dtype, [chunk[:50].copy() for chunk in chunks], divisor)


@pytest.mark.parametrize("workers", [2, 3, 5, 64])
def test_sums_of_float64_are_those_of_fsum(workers: int) -> None:
    """Adversarial: large numbers that cancel, and a small rest that decides how to round."""
    random = np.random.default_rng(workers)
    chunks = [random.standard_normal(40) * 2.0 ** random.integers(-1074, 900, 40) for _ in range(workers)]
    chunks[-1][:20] = -chunks[0][:20]
    chunks[0][20:30], chunks[-1][20:30] = 1.0, 2.0**-53  # half a unit in the last place: a tie
    chunks[1][25:30] = 2.0**-1074
    wanted = [math.fsum(column) + 0.0 for column in zip(*(chunk.tolist() for chunk in chunks), strict=True)]
    for form, unit in forms(DType.FLOAT64, chunks):
        assert aggregate(DType.FLOAT64, chunks, form, unit).tolist() == wanted


def test_zeros_have_a_plus_and_an_average_that_underflows_keeps_its_sign() -> None:
    for dtype in (DType.FLOAT32, DType.FLOAT16, DType.FLOAT64):
        kind: Any = NUMPY[dtype]
        minus = np.array([-0.0, -0.0], kind)
        smallest = np.full(2, np.finfo(kind).smallest_subnormal, kind)
        for form, unit in forms(dtype, [minus, minus]):
            assert not np.signbit(aggregate(dtype, [minus, minus], form, unit)).any()
        for form, unit in forms(dtype, [smallest, -smallest]):
            assert not np.signbit(aggregate(dtype, [smallest, -smallest], form, unit)).any()
        for form, unit in forms(dtype, [-smallest, minus]):
            average = aggregate(dtype, [-smallest, minus], form, unit, 2)  # a tie: to even, which is 0
            assert (average == 0).all()
            assert np.signbit(average).all()


@pytest.mark.parametrize("workers", [2, 3, 4, 5, 16, 64])
@pytest.mark.parametrize("dtype", [DType.FLOAT64, DType.FLOAT32, DType.FLOAT16])
def test_sums_beyond_the_range_are_infinities_of_their_sign(dtype: DType, workers: int) -> None:
    kind: Any = NUMPY[dtype]
    chunks = [np.array([1, -1, 0.9], kind) * np.finfo(kind).max] * workers
    for form, unit in forms(dtype, chunks):
        assert aggregate(dtype, chunks, form, unit).tolist() == [math.inf, -math.inf, math.inf]


def test_an_average_does_not_overflow_on_the_way() -> None:
    largest = np.full(3, np.finfo(np.float32).max, np.float32)
    for form, unit in forms(DType.FLOAT32, [largest] * 3):
        assert (aggregate(DType.FLOAT32, [largest] * 3, form, unit, 3) == largest).all()
        assert np.isposinf(aggregate(DType.FLOAT32, [largest] * 3, form, unit)).all()


def test_a_number_that_is_not_finite_costs_one_lane_more() -> None:
    chunks = [np.array([1.0, np.nan, 3.0], np.float32), np.array([np.inf, 1.0, 2.0**-20], np.float32)]
    form, unit = form_by_range(DType.FLOAT32, chunks)
    assert exact.width_of(DType.FLOAT32, form, 64) == form % exact.SPECIAL + 1
    result = aggregate(DType.FLOAT32, chunks, form, unit)
    assert np.array_equal(result, np.array([np.inf, np.nan, 3 + 2.0**-20], np.float32), equal_nan=True)
