"""Packed sums of whole jobs, two elements in a lane, through three aggregators, against fractions: within the bound,
and the same bits on every rank."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.protocol.dtypes import DType
from hostagent.protocol.operation import Operation, OperationKind, OperationRefused, Span
from hostagent.protocol.quantizer.blocks import log2_ceiling
from hostagent.protocol.quantizer.packed import LARGEST_JOB, error_bound
from hostagent.protocol.worker.exact_plan import ONE_ROUND_FRAMES, one_round_elements
from tests.labs.extent import tries
from tests.labs.float_sums import AGGREGATORS, LANES, WINDOW, draw_values
from tests.labs.protocol import as_float
from tests.labs.synchronous_job import SynchronousJob, reference_job
from tests.labs.worker_core import operation_of
from tests.oracles.exact_sums import rounded_sum

HALVES = (DType.FLOAT16, DType.BFLOAT16)
CHUNK = 2 * LANES


class Sum:
    """A packed sum over all ranks, of which each wants all elements or, ``scattered``, some of them."""

    def __init__(self, dtype: DType, inputs: list[np.ndarray], average: bool, scattered: bool) -> None:
        self.dtype, self.average, self.inputs = dtype, average, inputs
        size, ranks = inputs[0].size, len(inputs)
        edges = [size * rank // ranks for rank in range(ranks + 1)] if scattered else [0, size]
        self.wanted = [(edges[r], edges[r + 1]) if scattered else (0, size) for r in range(ranks)]
        self.outputs = [
            np.zeros(end - first, values.dtype) for (first, end), values in zip(self.wanted, inputs, strict=True)
        ]

    def operation(self, rank: int) -> Operation:
        given, output, (first, end) = self.inputs[rank], self.outputs[rank], self.wanted[rank]
        spans = Span(given.ctypes.data, 0, given.size), Span(output.ctypes.data, first, end - first)
        return operation_of(OperationKind.SUM, self.dtype, given.size, *spans, self.average, packed=True)

    def result(self) -> np.ndarray:
        if self.wanted[0][1] < self.inputs[0].size:
            return np.concatenate(self.outputs)
        assert len({output.tobytes() for output in self.outputs}) == 1
        return self.outputs[0]

    def check(self) -> None:
        workers = len(self.inputs)
        with np.errstate(invalid="ignore"):
            columns = np.array([as_float(values, self.dtype) for values in self.inputs]).T
            got = as_float(self.result(), self.dtype)
        for first in range(0, len(columns), CHUNK):
            chunk = columns[first : first + CHUNK]
            largest = np.abs(chunk[np.isfinite(chunk)]).max(initial=0.0)
            exponent = math.frexp(float(largest))[1]
            for column, result in zip(chunk.tolist(), got[first : first + CHUNK].tolist(), strict=True):
                self._check_element(column, result, error_bound(workers, exponent))

    def _check_element(self, column: list[float], result: float, bound: float) -> None:
        divisor = len(column) if self.average else 1
        wanted = rounded_sum(column, self.dtype, divisor)
        if not all(map(math.isfinite, column)):
            assert result == wanted or (math.isnan(result) and math.isnan(wanted)), (column, result, wanted)
            return
        if math.isinf(result):  # the sum is beyond the type's largest number
            assert math.isinf(wanted) or abs(wanted) + bound > 6e4, (column, result)
            return
        unit = 2.0 ** (math.frexp(result)[1] - (11 if self.dtype == DType.FLOAT16 else 8))
        unit = max(unit, 2.0**-24 if self.dtype == DType.FLOAT16 else 2.0**-133)
        error = abs(Fraction(result) - sum(map(Fraction, column), Fraction(0)) / divisor)
        assert error <= Fraction(bound) / divisor + Fraction(unit) / 2, (column, result, bound)


@st.composite
def sums(draw: st.DrawFn) -> Sum:
    dtype, style = (
        draw(st.sampled_from(HALVES)),
        draw(st.sampled_from(["normal", "spread", "bits", "subnormal", "zero"])),
    )
    workers = draw(st.sampled_from([2, 3, 4, 5, 8, 31]))
    least = ONE_ROUND_FRAMES * one_round_elements(dtype, LANES, workers, log2_ceiling(workers)) + 1
    count = draw(st.integers(least, least + 3 * CHUNK))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    inputs = [draw_values(dtype, style, count, rng) for _ in range(workers)]
    return Sum(dtype, inputs, draw(st.booleans()), draw(st.booleans()))


@pytest.mark.parametrize("name", AGGREGATORS)
@given(sums())
@settings(max_examples=tries(20, 60), deadline=None)
def test_a_job_computes_sums_within_the_bound(name: str, work: Sum) -> None:
    job = reference_job(len(work.inputs), WINDOW)
    ranks = SynchronousJob(AGGREGATORS[name](job, LANES), job, LANES)
    ranks.run([work.operation(rank) for rank in range(len(work.inputs))])
    work.check()


@pytest.mark.parametrize("workers", [2, 4, LARGEST_JOB, LARGEST_JOB + 1])
def test_half_the_frames_are_sent(workers: int) -> None:
    """In larger jobs all bits are needed, and each element has a lane."""
    job = reference_job(workers, WINDOW)
    ranks = SynchronousJob(AGGREGATORS["reference"](job, LANES), job, LANES)
    inputs = [np.ones(64 * CHUNK, np.float16) for _ in range(workers)]
    work = Sum(DType.FLOAT16, inputs, False, False)
    frames = ranks.run([work.operation(rank) for rank in range(workers)])
    assert frames == (64 + 1 if workers <= LARGEST_JOB else 128 + 2)
    assert (work.result() == workers).all()


def test_values_at_the_edge_of_the_scale_do_not_reach_their_neighbours() -> None:
    """The largest below a power of two, in all ranks: each would round to one more than 16 bits hold."""
    for workers in (2, 4, LARGEST_JOB):
        job = reference_job(workers, WINDOW)
        ranks = SynchronousJob(AGGREGATORS["reference"](job, LANES), job, LANES)
        edge = np.float16(2.0**-5).view(np.uint16) - np.uint16(1)
        inputs = [
            np.tile(np.array([edge, edge | 0x8000], np.uint16).view(np.float16), 8 * LANES) for _ in range(workers)
        ]
        work = Sum(DType.FLOAT16, inputs, False, False)
        ranks.run([work.operation(rank) for rank in range(workers)])
        work.check()


@pytest.mark.parametrize(("kind", "dtype"), [(OperationKind.SUM, DType.FLOAT32), (OperationKind.MAX, DType.FLOAT16)])
def test_what_cannot_be_packed_is_refused(kind: OperationKind, dtype: DType) -> None:
    job = reference_job(2, WINDOW)
    ranks = SynchronousJob(AGGREGATORS["reference"](job, LANES), job, LANES)
    with pytest.raises(OperationRefused, match="only sums of float16 and bfloat16 that are not exact can be packed"):
        ranks.run([operation_of(kind, dtype, 4, packed=True)] * 2)
