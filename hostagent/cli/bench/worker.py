"""``netsum bench worker``: what a frame costs a host, next to a plain copy of its lanes.

Times the compiled core end to end (numbers, windows, lists, headers and all) by looping its own contributions back as
results: a job of one worker, whose sum is its own contribution. The 64 MiB are beyond the caches.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i64, store_i64, store_u8
from emulator.native.syscalls import monotonic_ns
from hostagent.cli.bench.runner import Report, Row
from hostagent.protocol.dtypes import ELEMENT_BYTES, DType
from hostagent.protocol.frames import Addresses
from hostagent.protocol.operation import REQUEST, Operation, OperationKind, Span, request_of
from hostagent.protocol.quantizer.blocks import dequantize, exponent_of, quantize
from hostagent.protocol.worker import (
    NEVER_NS,
    CoreMemory,
    CoreSettings,
    core_poll_transmit,
    core_receive,
    core_submit,
    frame_stride_bytes,
    ring_chunks,
    scratch_bytes,
    transmit_at,
)
from hostagent.protocol.worker.header import KIND_AT, udp_sum
from hostagent.protocol.worker.operations import core_take_completion
from hostagent.protocol.worker.records import TRANSMIT, TRANSMIT_BYTES

WINDOW = 256
SEED = 1
TIMES = 200_000
BATCH = 64
"""Frames between two polls, as a ring would deliver them."""


@njit
def repeat_quantize(values: int, lanes: int, count: int, times: int) -> None:
    """The loop alone, from and to the first-level cache."""
    for _ in range(times):
        quantize(values, lanes, count, 3, 2)


@njit
def repeat_dequantize(lanes: int, values: int, count: int, times: int) -> None:
    """The loop alone."""
    for _ in range(times):
        dequantize(lanes, values, count, 3, 2, 1)


@njit
def repeat_exponent(values: int, count: int, times: int) -> Any:
    """The loop alone."""
    total = 0
    for _ in range(times):
        total += exponent_of(values, count)
    return total


@njit
def repeat_copy(source: int, target: int, length: int, times: int) -> None:
    """The baseline: the bytes of a frame's lanes, copied in the first-level cache."""
    for _ in range(times):
        copy_bytes(target, source, length)


@njit
def repeat_sum(frame: int, length: int, times: int) -> Any:
    """The loop alone."""
    total = 0
    for _ in range(times):
        total += udp_sum(frame, length)
    return total


@njit
def echo(core: int, out: int, copies: int, copy_stride: int, times_ns: int) -> Any:
    """Run a core to its next completion against an aggregator that returns every contribution as the result.

    Frames are copied, as a switch would write its own. Adds the time spent sending and receiving to two int64 at
    ``times_ns``; returns the frames.
    """
    frames = 0
    while True:
        start_ns = monotonic_ns()
        count = core_poll_transmit(core, out, BATCH, NEVER_NS, 0)
        store_i64(times_ns, 0, load_i64(times_ns, 0) + monotonic_ns() - start_ns)
        if count == 0 and core_take_completion(core)[0] >= 0:
            return frames
        for i in range(count):
            order = transmit_at(out + i * TRANSMIT_BYTES)
            copy_bytes(copies + i * copy_stride, np.int64(order.address), np.int64(order.length))
            store_u8(copies + i * copy_stride + KIND_AT, 0, 1)
        start_ns = monotonic_ns()
        for i in range(count):
            order = transmit_at(out + i * TRANSMIT_BYTES)
            core_receive(core, copies + i * copy_stride, np.int64(order.length), 0)
        store_i64(times_ns, 1, load_i64(times_ns, 1) + monotonic_ns() - start_ns)
        frames += count


def nanoseconds(function: Any, *arguments: int, times: int) -> float:
    """Best of five runs after a first that compiles, per repetition; ``times`` is the last argument."""
    function(*arguments, 1)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter_ns()
        function(*arguments, times)
        best = min(best, time.perf_counter_ns() - start)
    return best / times


def core_nanoseconds(lanes: int, dtype: DType, tensor_bytes: int, packed: bool) -> tuple[float, float]:
    """What a frame costs to send and to receive, all of the core included; best of several operations."""
    ring, stride = ring_chunks(WINDOW), frame_stride_bytes(lanes)
    pool, posted = np.zeros(ring * stride, np.uint8), np.zeros(ring, np.uint64)
    settings = CoreSettings(1, 0, 1, 1, lanes, WINDOW, Addresses(1, 2, 3, 4), checksum=False)
    memory = CoreMemory(settings, pool.ctypes.data, stride, posted.ctypes.data)
    elements = tensor_bytes // ELEMENT_BYTES[dtype]
    source = np.full(tensor_bytes, 0x3E, np.uint8)  # 0.2 or 1.6 as a float of any type
    target, copies = np.zeros(tensor_bytes, np.uint8), np.zeros(BATCH * stride, np.uint8)
    out, request = np.zeros(BATCH, TRANSMIT), np.zeros(1, REQUEST)
    spans = Span(source.ctypes.data, 0, elements), Span(target.ctypes.data, 0, elements)
    described = "", OperationKind.SUM, dtype.name.lower(), ELEMENT_BYTES[dtype], elements, *spans
    operation = Operation(*described, packed=packed)
    kind, factor = operation.core_type()
    scratch = np.empty(scratch_bytes(operation.kind, kind, operation.exact, elements * factor, lanes), np.uint8)
    request[0] = request_of(operation, scratch.ctypes.data)
    best = [float("inf")] * 2
    for _ in range(5 if tensor_bytes > 1 << 20 else 200):
        core_submit(memory.address, request.ctypes.data)
        times_ns = np.zeros(2, np.int64)
        frames = echo(memory.address, out.ctypes.data, copies.ctypes.data, stride, times_ns.ctypes.data)
        best = [min(held, time_ns / frames) for held, time_ns in zip(best, times_ns, strict=True)]
    return best[0], best[1]


def measure(lanes: int = 256) -> Report:
    """The loops alone in the first-level cache, then the whole core by element type and size of the tensor."""
    values, words = (
        np.random.default_rng(SEED).standard_normal(lanes).astype(np.float32),
        np.zeros(lanes + 16, np.uint32),
    )
    near, far, length = values.ctypes.data, words.ctypes.data + 2, 4 * lanes
    copy_ns = nanoseconds(repeat_copy, near, far, length, times=TIMES)
    figures = {
        "quantize, in cache": nanoseconds(repeat_quantize, near, far, lanes, times=TIMES),
        "dequantize, in cache": nanoseconds(repeat_dequantize, far, near, lanes, times=TIMES),
        "exponent, in cache": nanoseconds(repeat_exponent, near, lanes, times=TIMES),
        "UDP checksum, in cache": nanoseconds(repeat_sum, near, length + 2, times=TIMES),
    }
    kinds = [(dtype, False) for dtype in (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.INT32, DType.INT64)]
    for dtype, packed in (*kinds, (DType.FLOAT16, True), (DType.BFLOAT16, True)):
        for size in (256 << 10, 64 << 20):
            send, receive = core_nanoseconds(lanes, dtype, size, packed)
            name = f"{dtype.name.lower()}{' packed' * packed}, {size >> 10:,} KiB"
            figures |= {f"core, {name}: send": send, f"core, {name}: receive": receive}
    rows = [Row(name, value, "ns", "plain copy, in cache", copy_ns) for name, value in figures.items()]
    return Report("worker", f"worker core, nanoseconds per frame of {lanes} lanes", rows, SEED)
