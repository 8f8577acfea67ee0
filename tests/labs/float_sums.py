"""Sums of floats by whole jobs: the aggregators to play them on, and elements of every kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from emulator.v1model.compiled import CompiledProgram, load
from hostagent.controller.drivers.job import Child, JobConfig
from hostagent.protocol.dtypes import DType
from hostagent.protocol.reference import ReferenceAggregator, ReferenceJob
from tests.labs.p4_aggregator import P4Aggregator
from tests.labs.protocol import NUMPY
from tests.labs.rack_aggregator import RackAggregator, terms_of
from tests.labs.synchronous_job import JOB, Receive

LANES, SLOTS, WINDOW = 64, 64, 8


def reference(job: ReferenceJob, lanes: int) -> Receive:
    return ReferenceAggregator(lanes, {JOB: job}).receive


def rack_server(job: ReferenceJob, lanes: int) -> Receive:
    rack = RackAggregator(lanes, ports=len(job.children), slots=SLOTS)
    rack.server.install(terms_of(JOB, job, lanes))
    return rack.receive


@cache
def program() -> CompiledProgram:
    return load("allreduce.p4", {"LANES": str(LANES), "SLOTS": str(SLOTS)}, engine="llvm")


def p4_program(job: ReferenceJob, lanes: int) -> Receive:
    assert lanes == LANES
    switch = P4Aggregator(program(), ports=len(job.children))
    children = tuple(Child(rank, rank, child.mac, child.ip, True) for rank, child in enumerate(job.children))
    fields = (JOB, 0, job.epoch, job.base, job.window, 0, job.short_allowed, job.switch_mac, job.switch_ip)
    switch.install(JobConfig(*fields, children))
    return switch.receive


AGGREGATORS: dict[str, Callable[[ReferenceJob, int], Receive]] = {
    "reference": reference,
    "rack server": rack_server,
    "P4": p4_program,
}


def draw_values(dtype: DType, style: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Elements of one rank."""
    if style == "bits":
        size = np.dtype(NUMPY[dtype]).itemsize
        return np.frombuffer(rng.bytes(count * size), NUMPY[dtype]).copy()
    wide = rng.standard_normal(count)
    if style == "spread":
        wide *= 2.0 ** rng.integers(-40, 8, count)
    elif style == "subnormal":
        wide = np.round(wide * 5) * {DType.FLOAT16: 2.0**-24, DType.FLOAT64: 2.0**-1074}.get(dtype, 2.0**-133)
    elif style == "zero":
        wide = np.copysign(0.0, wide)
    if dtype == DType.BFLOAT16:
        return (wide.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return wide.astype(NUMPY[dtype])
