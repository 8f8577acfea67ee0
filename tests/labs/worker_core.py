"""A worker core as a Python object: frames go in and out as bytes, operations by the core's own element types."""

from __future__ import annotations

from typing import Any

import numpy as np

from hostagent.protocol.dtypes import ELEMENT_BYTES, DType
from hostagent.protocol.operation import (
    NOTHING,
    REQUEST,
    Operation,
    OperationKind,
    OperationRefused,
    Span,
    legality_at,
    refusal_text,
    request_of,
)
from hostagent.protocol.worker import (
    JOB_FAILED,
    QUEUE_FULL,
    REASONS,
    TRANSMIT,
    CoreMemory,
    CoreSettings,
    core_fail,
    core_freeze,
    core_lowest_unfinished,
    core_next_timer,
    core_poll_transmit,
    core_receive,
    core_resume,
    core_submit,
    core_take_completion,
    frame_stride_bytes,
    ring_chunks,
    scratch_bytes,
)
from tests.labs.compiled_cores import adopt_core_loops

Array = np.ndarray[Any, Any]


class JobFailed(RuntimeError):
    """The job has failed: nothing can be submitted any more."""


def operation_of(
    kind: OperationKind,
    dtype: DType = DType.FLOAT32,
    elements: int = 0,
    source: Span = NOTHING,
    output: Span = NOTHING,
    average: bool = False,
    collective: str = "",
    exact: bool = False,
    packed: bool = False,
) -> Operation:
    """An operation by the core's element type."""
    described = collective, kind, dtype.name.lower(), ELEMENT_BYTES[dtype], elements, source, output, average
    return Operation(*described, exact=exact, packed=packed)


def scratch_for(operation: Operation, lanes: int) -> Array:
    """Scratch memory for one operation; must live until its completion."""
    dtype, factor = operation.core_type()
    return np.empty(scratch_bytes(operation.kind, dtype, operation.exact, operation.elements * factor, lanes), np.uint8)


class WorkerCore:
    """A core with its own frame pool; frames go in and out as bytes. One thread at a time."""

    def __init__(self, settings: CoreSettings, *, capacity: int = 4096) -> None:
        adopt_core_loops()
        ring, self._stride = ring_chunks(settings.window), frame_stride_bytes(settings.lanes)
        self._pool = np.zeros(ring * self._stride, np.uint8)
        self.posted = np.zeros(ring, np.uint64)
        self.memory = CoreMemory(settings, self._pool.ctypes.data, self._stride, self.posted.ctypes.data)
        self.record = self.memory.record
        self._out = np.zeros(capacity, TRANSMIT)
        self._request = np.zeros(1, REQUEST)
        self._kept: dict[int, tuple[object, ...]] = {}

    def submit(self, operation: Operation) -> int:
        """Queue an operation; returns its sequence number.

        Raises OperationRefused, JobFailed, or BlockingIOError when too many are in flight.
        """
        lanes = self.memory.settings.lanes
        scratch = scratch_for(operation, lanes)
        self._request[0] = request_of(operation, scratch.ctypes.data)
        sequence = core_submit(self.memory.address, self._request.ctypes.data)
        if sequence == JOB_FAILED:
            raise JobFailed(f"the job has failed (code {self.failure})")
        if sequence == QUEUE_FULL:
            raise BlockingIOError("too many operations in flight: take completions first")
        if sequence < 0:
            raise OperationRefused(
                refusal_text(operation, legality_at(self._request.ctypes.data, lanes, self.memory.settings.workers))
            )
        self._kept[sequence] = scratch, operation.memory
        return int(sequence)

    def receive(self, frame: bytes, now_ns: int) -> str:
        """Take a frame; returns "" when it was used, else the reason why not."""
        data = np.frombuffer(frame, np.uint8)
        reason = core_receive(self.memory.address, data.ctypes.data, len(frame), now_ns)
        return REASONS[reason - 1] if reason else ""

    def transmit(self, now_ns: int, *, consumed: int = 2**62) -> list[bytes]:
        """Frames to send now, copied."""
        count = core_poll_transmit(self.memory.address, self._out.ctypes.data, len(self._out), consumed, now_ns)
        return [self._frame(int(order["frame"]), int(order["length"])) for order in self._out[:count]]

    def _frame(self, place: int, length: int) -> bytes:
        return self._pool[place * self._stride : place * self._stride + length].tobytes()

    def next_timer(self) -> int:
        """When ``transmit`` is due again though nothing happens."""
        return int(core_next_timer(self.memory.address))

    def completions(self) -> list[tuple[int, int]]:
        """Operations that ended since the last call: (sequence, 0 or a failure code)."""
        found = []
        while (pair := core_take_completion(self.memory.address))[0] >= 0:
            self._kept.pop(pair[0], None)
            found.append((int(pair[0]), int(pair[1])))
        return found

    def freeze(self) -> int:
        """Stop; returns the lowest chunk without a result."""
        return int(core_freeze(self.memory.address))

    def resume(self, epoch: int, base: int, now_ns: int) -> bool:
        """Go on in a new epoch from chunk ``base``."""
        return bool(core_resume(self.memory.address, epoch, base, now_ns))

    def fail(self, code: int) -> None:
        """End the job for a cause from outside."""
        core_fail(self.memory.address, code)

    @property
    def failure(self) -> int:
        """0, or why the job failed."""
        return int(self.record["failure"][0])

    @property
    def lowest_unfinished(self) -> int:
        """The lowest chunk without a result."""
        return int(core_lowest_unfinished(self.memory.address))

    def missing(self, children: int) -> list[int]:
        """Children who had not contributed to the chunk last heard of as waiting; empty when nothing was heard."""
        if int(self.record["waiting_chunk"][0]) < int(self.record["floor"][0]):
            return []
        came = int(self.record["waiting_children"][0])
        return [child for child in range(children) if not came >> child & 1]

    def statistics(self) -> dict[str, int]:
        """See CoreMemory."""
        return self.memory.statistics()
