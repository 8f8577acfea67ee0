"""Exact and one-round sums of whole jobs, through three aggregators, against fractions: bit for bit, on every rank."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.protocol.dtypes import DType
from hostagent.protocol.operation import Operation, OperationKind, OperationRefused, Span, exact_lanes
from hostagent.protocol.quantizer.blocks import log2_ceiling
from hostagent.protocol.worker.exact_plan import ONE_ROUND_FRAMES, one_round_elements
from tests.labs.extent import tries
from tests.labs.float_sums import AGGREGATORS, LANES, WINDOW, draw_values, reference
from tests.labs.protocol import as_float
from tests.labs.synchronous_job import SynchronousJob, reference_job
from tests.labs.worker_core import operation_of
from tests.oracles.exact_sums import rounded_sum, same

FLOATS = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.FLOAT64)


class Sum:
    """A sum over all ranks: operations, and the results afterwards."""

    def __init__(self, dtype: DType, inputs: list[np.ndarray], average: bool, exact: bool) -> None:
        self.dtype, self.divisor = dtype, len(inputs) if average else 1
        self.inputs, self.outputs = inputs, [np.empty_like(values) for values in inputs]
        self.average, self.exact = average, exact

    def operation(self, rank: int) -> Operation:
        given, output = self.inputs[rank], self.outputs[rank]
        spans = Span(given.ctypes.data, 0, given.size), Span(output.ctypes.data, 0, output.size)
        return operation_of(OperationKind.SUM, self.dtype, given.size, *spans, self.average, exact=self.exact)

    def check(self) -> None:
        assert len({output.tobytes() for output in self.outputs}) == 1
        with np.errstate(invalid="ignore"):
            columns = np.array([as_float(values, self.dtype) for values in self.inputs]).T.tolist()
            got = as_float(self.outputs[0], self.dtype).tolist()
        for column, result in zip(columns, got, strict=True):
            wanted = rounded_sum(column, self.dtype, self.divisor)
            assert same(result, wanted), f"{column} / {self.divisor} is {result!r}, should be {wanted!r}"


@st.composite
def sums(draw: st.DrawFn) -> tuple[Sum, int]:
    """A sum, and the number of frames that a rank may have to send for it at most."""
    dtype, style = (
        draw(st.sampled_from(FLOATS)),
        draw(st.sampled_from(["normal", "spread", "bits", "subnormal", "zero"])),
    )
    workers = draw(st.sampled_from([2, 3, 4, 5, 8, 31, 64]))
    workers = min(workers, 32) if dtype == DType.FLOAT64 else workers  # more need 128 lanes
    one_round = ONE_ROUND_FRAMES * one_round_elements(dtype, LANES, workers, log2_ceiling(workers))
    average = draw(st.booleans())
    if draw(st.booleans()):
        count, exact = draw(st.integers(1, one_round)), draw(st.booleans())
    else:
        count, exact = draw(st.integers(one_round + 1, 1500 if workers < 6 else one_round + 100)), True
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    inputs = [draw_values(dtype, style, count, rng) for _ in range(workers)]
    if draw(st.booleans()):
        inputs[-1] = inputs[0].copy()  # cancels, or doubles, what is there
        if dtype != DType.BFLOAT16:
            inputs[-1] *= -1
    return Sum(dtype, inputs, average, exact), ONE_ROUND_FRAMES if count <= one_round else 0


@pytest.mark.parametrize("name", AGGREGATORS)
@given(sums())
@settings(max_examples=tries(20, 60), deadline=None)
def test_a_job_computes_correctly_rounded_sums(name: str, case: tuple[Sum, int]) -> None:
    work, one_round_frames = case
    job = reference_job(len(work.inputs), WINDOW)
    ranks = SynchronousJob(AGGREGATORS[name](job, LANES), job, LANES)
    frames = ranks.run([work.operation(rank) for rank in range(len(work.inputs))])
    work.check()
    if one_round_frames:
        assert frames <= one_round_frames


@pytest.mark.parametrize("workers", [2, 4, 64])
def test_usual_gradients_take_two_frames_and_a_scalar_one(workers: int) -> None:
    """1,024 lanes: 16 blocks of 1,020 numbers are 32 frames and one of exponents."""
    lanes, rng = 1024, np.random.default_rng(workers)
    job = reference_job(workers, 64)
    ranks = SynchronousJob(reference(job, lanes), job, lanes)
    inputs = [rng.standard_normal(16 * 1020).astype(np.float32) for _ in range(workers)]
    work = Sum(DType.FLOAT32, inputs, False, True)
    assert ranks.run([work.operation(rank) for rank in range(workers)]) == 33
    for count in (1, 78):
        small = Sum(DType.FLOAT32, [values[:count].copy() for values in inputs], True, False)
        assert ranks.run([small.operation(rank) for rank in range(workers)]) == 1
        small.check()


def test_what_has_too_few_lanes_is_refused_by_name() -> None:
    job = reference_job(33, WINDOW)
    ranks = SynchronousJob(reference(job, LANES), job, LANES)
    work = Sum(DType.FLOAT64, [np.ones(3)] * 33, False, False)
    with pytest.raises(OperationRefused, match="float64 needs an aggregator with more lanes"):
        ranks.run([work.operation(rank) for rank in range(33)])
    assert max(exact_lanes(dtype, workers) for dtype in FLOATS for workers in range(1, 1024)) <= 256
