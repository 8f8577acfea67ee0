"""Block floating point: the stated error bound, exact integers, both scale loops, halves rounded once, NaN and Inf."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hostagent.protocol.dtypes import DType
from hostagent.protocol.quantizer import blocks, classes, floats, halves, ordered, packed

COUNT = 67  # not a multiple of any vector's width
F32 = np.float32


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def aggregate(chunks: list[np.ndarray], divisor: int = 1, odd: bool = False) -> np.ndarray:
    """What ranks and aggregator make of one float32 chunk of each rank."""
    workers_log2 = blocks.log2_ceiling(len(chunks))
    exponent = max(blocks.exponent_of(address(chunk), len(chunk)) for chunk in chunks)
    total = np.zeros(len(chunks[0]), np.uint32)
    for chunk in chunks:
        lanes = np.empty(len(chunk), np.uint32)
        blocks.quantize(address(chunk), address(lanes), len(chunk), exponent, workers_log2)
        total += lanes.byteswap()
    wire, result = total.byteswap(), np.empty(len(total), F32)
    back = blocks.dequantize_to_odd if odd else blocks.dequantize
    back(address(wire), address(result), len(total), exponent, workers_log2, divisor)
    return result


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7, 64])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 2.0**-140, 2.0**-97, 2.0**-96, 2.0**-30, 2.0**120])
def test_error_stays_within_the_bound(workers: int, scale: float) -> None:
    random = np.random.default_rng(workers)
    chunks = [(random.standard_normal(COUNT) * scale).astype(F32) for _ in range(workers)]
    largest = float(max(np.abs(chunk).max() for chunk in chunks))
    exponent = max(blocks.exponent_of(address(chunk), COUNT) for chunk in chunks)
    assert largest < 2.0**exponent <= max(2 * largest, 2.0**-149)
    result = aggregate(chunks)
    for i in range(COUNT):
        exact = sum((Fraction(float(chunk[i])) for chunk in chunks), Fraction(0))
        last_place = Fraction(float(np.spacing(np.abs(result[i])))) / 2
        assert abs(Fraction(float(result[i])) - exact) <= Fraction(blocks.error_bound(workers, exponent)) + last_place


@pytest.mark.parametrize("workers", [1, 2, 5, 64])
def test_integers_below_2_to_the_24_are_exact(workers: int) -> None:
    random = np.random.default_rng(workers)
    chunks = [random.integers(-(2**24) + 1, 2**24, COUNT).astype(F32) for _ in range(workers)]
    exact = np.sum([chunk.astype(np.int64) for chunk in chunks], axis=0)
    assert (aggregate(chunks) == exact.astype(F32)).all()


def test_the_largest_values_do_not_overflow_their_lanes() -> None:
    largest = np.finfo(F32).max
    for workers in (1, 2, 3, 64):
        chunk = np.full(COUNT, np.nextafter(F32(1), F32(0)), F32)
        assert (aggregate([chunk] * workers) == F32(workers) * (1 - 2.0**-24)).all()
        assert np.isinf(aggregate([np.full(3, largest, F32)] * max(workers, 2))).all()
    assert (aggregate([np.full(3, largest, F32)]) == largest).all()


def test_zeros_and_subnormals() -> None:
    zeros = np.zeros(3, F32)
    assert blocks.exponent_of(address(zeros), 3) == blocks.EXPONENT_ZERO
    assert (aggregate([np.zeros(3, F32)] * 2) == 0).all()
    tiny = np.array([2.0**-149, -(2.0**-149), 2.0**-126], F32)
    assert (aggregate([tiny, tiny]) == 2 * tiny).all()


@pytest.mark.parametrize("workers", [2, 3, 4, 7])
def test_an_average_is_rounded_once(workers: int) -> None:
    random = np.random.default_rng(workers)
    chunks = [random.integers(-(2**24) + 1, 2**24, COUNT).astype(F32) for _ in range(workers)]
    total = np.sum([chunk.astype(np.int64) for chunk in chunks], axis=0)
    expected = [F32(0) if t == 0 else nearest(Fraction(int(t), workers), 24) for t in total]
    assert (aggregate(chunks, workers) == np.array(expected, F32)).all()


def nearest(value: Fraction, digits: int) -> F32:
    """A fraction rounded to nearest even with that many binary digits."""
    exponent = digits - 1 - (int(abs(value)).bit_length() - 1 if abs(value) >= 1 else -1)
    return F32(float(Fraction(round(value * Fraction(2) ** exponent)) / Fraction(2) ** exponent))


@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.BFLOAT16])
def test_every_half_widens_and_narrows_to_itself(dtype: DType) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    wide, back = np.empty(bits.size, F32), np.empty(bits.size, np.uint16)
    floats.widen(dtype, address(bits), address(wide), bits.size)
    floats.narrow(dtype, address(wide), address(back), bits.size)
    number = ~np.isnan(wide)
    assert (back[number] == bits[number]).all()
    if dtype == DType.FLOAT16:
        assert (wide[number] == bits.view(np.float16)[number].astype(F32)).all()
    else:
        assert (wide.view(np.uint32) == bits.astype(np.uint32) << 16).all()
    again = np.empty(bits.size, F32)
    floats.widen(dtype, address(back), address(again), bits.size)
    assert np.isnan(again[~number]).all()


def test_halves_are_rounded_once() -> None:
    """A sum of 30 bits just off a midpoint of float16: rounding to float32 first would land on the midpoint."""
    lanes = np.array([(2**29) + 2**18 + 1, -(2**29) - 2**18 - 1, 2**29 + 2**18, 5, 2**24 - 1], np.int32)
    wire, values, half = lanes.byteswap(), np.empty(5, F32), np.empty(5, np.float16)
    for divisor in (1, 3):
        blocks.dequantize_to_odd(address(wire), address(values), 5, 10, 0, divisor)
        floats.narrow(DType.FLOAT16, address(values), address(half), 5)
        expected = [nearest(Fraction(int(lane), divisor * 2**20), 11) for lane in lanes[:3]]
        assert (half[:3] == np.array(expected, np.float16)).all()


def test_round_to_odd_keeps_what_is_exact() -> None:
    values = [0.0, 1.5, -(2.0**-126), 2.0**-149, 3.0e38]
    for value in values:
        exact = float(F32(value))
        assert blocks.odd_f32_of_f64(exact) == F32(exact)
    for inexact in (1 + 2.0**-40, 1 - 2.0**-40, -1 - 2.0**-40, 2.0**-150):
        assert F32(blocks.odd_f32_of_f64(inexact)).view(np.uint32) & 1


SPECIAL = {"nan": np.nan, "+inf": np.inf, "-inf": -np.inf, "finite": 1.0}


@pytest.mark.parametrize("first", SPECIAL)
@pytest.mark.parametrize("second", SPECIAL)
def test_classes_add_as_floating_point_does(first: str, second: str) -> None:
    total = np.zeros(1, np.uint32)
    for name in (first, second):
        chunk, lanes = np.full(1, SPECIAL[name], F32), np.empty(1, np.uint32)
        classes.count_classes(address(chunk), address(lanes), 1)
        total += lanes.byteswap()
    wire, result = total.byteswap(), np.full(1, 1.0, F32)
    classes.settle_classes(address(wire), address(result), 1)
    with np.errstate(invalid="ignore"):
        expected = F32(SPECIAL[first]) + F32(SPECIAL[second])
    wanted = 1.0 if first == second == "finite" else expected
    assert np.array_equal(result, np.array([wanted], F32), equal_nan=True)


def test_class_counts_of_1023_workers_stay_in_their_fields() -> None:
    for bits in (0x7FC00000, 0x7F800000, 0xFF800000 - (1 << 32)):
        counts = classes.class_of_bits(bits) * 1023
        assert classes.value_of_classes(counts) & 0xFFFFFFFF == bits & 0xFFFFFFFF


def test_not_finite_exponent_wins_and_finite_parts_survive() -> None:
    chunk = np.array([1.0, np.nan, -np.inf, 3.0], F32)
    assert blocks.exponent_of(address(chunk), 4) == blocks.EXPONENT_NOT_FINITE
    finite = chunk.copy()
    floats.zero_not_finite(address(finite), 4)
    assert (finite == np.array([1, 0, 0, 3], F32)).all()
    floats.keep_not_finite(address(chunk), address(finite), 4)
    assert np.array_equal(finite, chunk, equal_nan=True)


@pytest.mark.parametrize("complement", [0, -1])
def test_ordered_lanes_compare_as_the_floats_do_and_nan_wins(complement: int) -> None:
    values = np.array([-np.inf, -3e38, -1.0, -(2.0**-149), -0.0, 0.0, 2.0**-149, 1.0, 3e38, np.inf], F32)
    lanes, back = np.empty(values.size, np.uint32), np.empty(values.size, F32)
    ordered.order_floats(address(values), address(lanes), values.size, complement)
    numbers = lanes.byteswap().view(np.int32).astype(np.int64)
    assert (np.diff(numbers) > 0).all() if complement == 0 else (np.diff(numbers) < 0).all()
    assert numbers.max() < ordered.NAN_LANE
    assert numbers.min() > ordered.LEAST
    ordered.unorder_floats(address(lanes), address(back), values.size, complement)
    assert (back.view(np.uint32) == values.view(np.uint32)).all()
    nans = np.array([np.nan, -np.nan], F32)
    ordered.order_floats(address(nans), address(lanes), 2, complement)
    assert (lanes[:2].byteswap() == ordered.NAN_LANE).all()
    ordered.unorder_floats(address(lanes), address(back), 2, complement)
    assert (back[:2].view(np.uint32) == 0x7FC00000).all()


def of_scale(dtype: DType, exponent: int, rng: np.random.Generator) -> np.ndarray:
    """Elements below 2^exponent, as 16 bits."""
    values = (rng.uniform(-1, 1, COUNT) * 2.0**exponent).astype(F32)
    bits = np.empty(COUNT, np.uint16)
    floats.narrow(int(dtype), address(values), address(bits), COUNT)
    return bits


@pytest.mark.parametrize("workers", [1, 3, 4, 64])
@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [(DType.FLOAT16, e) for e in (-24, -14, 0, 16)] + [(DType.BFLOAT16, e) for e in (-133, -97, -96, 0, 128)],
)
def test_one_pass_for_16_bits_has_the_bits_of_two(workers: int, dtype: DType, exponent: int) -> None:
    rng = np.random.default_rng(workers)
    bits, wide, workers_log2 = of_scale(dtype, exponent, rng), np.empty(COUNT, F32), blocks.log2_ceiling(workers)
    floats.widen(int(dtype), address(bits), address(wide), COUNT)
    found = halves.half_exponent_of(int(dtype), address(bits), COUNT)
    assert found == blocks.exponent_of(address(wide), COUNT)
    lanes, expected = np.zeros(COUNT, np.uint32), np.zeros(COUNT, np.uint32)
    done = halves.quantize_halves(int(dtype), address(bits), address(lanes), COUNT, found, workers_log2)
    assert done == (blocks.shift_of(found, workers_log2) <= blocks.LARGEST_FAST_SHIFT)
    blocks.quantize(address(wide), address(expected), COUNT, found, workers_log2)
    if done:
        assert (lanes == expected).all()
    sums = rng.integers(-(2**30), 2**30, COUNT).astype(np.int32).byteswap()
    for divisor in (1, 4, 3):
        back, wanted = np.zeros(COUNT, np.uint16), np.zeros(COUNT, np.uint16)
        arguments = COUNT, found, workers_log2, divisor
        done = halves.dequantize_halves(int(dtype), address(sums), address(back), *arguments)
        blocks.dequantize_to_odd(address(sums), address(wide), *arguments)
        floats.narrow(int(dtype), address(wide), address(wanted), COUNT)
        assert done or divisor == 3 or found < -90
        if done:
            assert (back == wanted).all()


@pytest.mark.parametrize("workers", [1, 3, 4, 31])
@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [(DType.FLOAT16, e) for e in (-14, 0, 16)] + [(DType.BFLOAT16, e) for e in (-133, -111, -110, 0, 128)],
)
def test_one_pass_for_two_in_a_lane_has_the_bits_of_two(workers: int, dtype: DType, exponent: int) -> None:
    rng, count, workers_log2 = np.random.default_rng(workers), 2 * COUNT, blocks.log2_ceiling(workers)
    bits = np.concatenate([of_scale(dtype, exponent, rng) for _ in range(2)])
    power = np.array([np.inf if exponent == 128 else 2.0**exponent], F32)
    floats.narrow(int(dtype), address(power), address(bits), 1)
    bits[0] -= 1  # the largest number below it, which may be rounded to it
    bits[COUNT] = bits[0]
    found = packed.packed_exponent(halves.half_exponent_of(int(dtype), address(bits), count))
    wide, lanes, expected = (np.zeros(size, np.uint32) for size in (count, COUNT, COUNT))
    done = packed.pack_halves(int(dtype), address(bits), address(lanes), count, COUNT, found, workers_log2)
    assert done == halves.quantize_halves(int(dtype), address(bits), address(wide), count, found, workers_log2)
    packed.pack(address(wide), address(expected), count, COUNT, workers_log2)
    assert not done or (lanes == expected).all()
    sums = rng.integers(-(2**31), 2**31, COUNT).astype(np.int32)
    packed.unpack(address(sums), address(wide), count, COUNT)
    for divisor in (1, 4, 3):
        back, wanted = np.zeros(count, np.uint16), np.zeros(count, np.uint16)
        arguments = found, workers_log2, divisor
        done = packed.unpack_halves(int(dtype), address(sums), address(back), count, COUNT, *arguments)
        assert done == halves.dequantize_halves(int(dtype), address(wide), address(wanted), count, *arguments)
        assert (back == wanted).all()
    assert not packed.pack_halves(int(dtype), address(bits), address(lanes), count - 1, COUNT, found, workers_log2)


def test_one_pass_finds_zeros_and_what_is_not_finite() -> None:
    for dtype, infinity in ((DType.FLOAT16, 0x7C00), (DType.BFLOAT16, 0x7F80)):
        for bits, exponent in ((0x8000, blocks.EXPONENT_ZERO), (infinity, blocks.EXPONENT_NOT_FINITE)):
            values = np.array([0, bits, 1 if bits == infinity else 0], np.uint16)
            assert halves.half_exponent_of(int(dtype), address(values), 3) == exponent
        values = np.array([infinity + 1], np.uint16)
        assert halves.half_exponent_of(int(dtype), address(values), 1) == blocks.EXPONENT_NOT_FINITE
