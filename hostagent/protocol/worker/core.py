"""The worker core as a Python object: memory, settings, checks in words. What repeats is in the compiled functions.

``CoreMemory`` is what a transport needs: one block of memory with a core in it, and the address to pass to the
compiled functions. ``WorkerCore`` adds the calls, for tests and for hosts in virtual time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from emulator.native.calls import entry_address
from hostagent.protocol.dtypes import FLOATS, RAW_ONLY, DType, OperationKind
from hostagent.protocol.frames import Addresses, Frame, build_frame
from hostagent.protocol.quantizer.blocks import log2_ceiling
from hostagent.protocol.served import ServedMemory
from hostagent.protocol.wire import LANES_AT, Header, Kind, full_frame_bytes
from hostagent.protocol.worker.dequantize_result import store_lanes
from hostagent.protocol.worker.header import TEMPLATE_STRIDE
from hostagent.protocol.worker.lists import LISTS
from hostagent.protocol.worker.operations import (
    JOB_FAILED,
    QUEUE_FULL,
    core_submit,
    core_take_completion,
    scratch_bytes,
)
from hostagent.protocol.worker.quantize_contribution import fill_lanes
from hostagent.protocol.worker.receive import core_fail, core_receive
from hostagent.protocol.worker.records import (
    CHUNK,
    COMPLETION,
    CORE,
    FROZEN,
    OPERATION,
    REASONS,
    REQUEST,
    STATISTICS,
    TRANSMIT,
)
from hostagent.protocol.worker.restart import core_freeze, core_lowest_unfinished, core_resume
from hostagent.protocol.worker.retransmission import FIRST_RTO_NS, core_next_timer
from hostagent.protocol.worker.served_lanes import fill_served, store_served
from hostagent.protocol.worker.transmit import core_poll_transmit

Array = np.ndarray[Any, Any]

RUN_AHEAD_WINDOWS = 2
"""How far beyond the lowest unfinished chunk a worker may go, in windows (PROTOCOL.md, section 6.2)."""
SMALLEST_RING = 128
"""Chunks; a multiple of 64, the width of a bitmap's word, with room for the word that the lowest chunk begins in."""
MINIMUM_RTO_NS = 4_000_000
"""A little more than one scheduler slice (2.8 to 3 ms): how late an answer is when the switch lost its core to us."""
MAXIMUM_WORKERS = 1023
"""Class counts have 10 bits; one aggregator has at most 64 children."""


class OperationRefused(ValueError):
    """An operation that cannot be carried out; the message says which and what to do instead."""


class JobFailed(RuntimeError):
    """The job has failed: nothing can be submitted any more."""


@dataclass(frozen=True, slots=True)
class CoreSettings:
    """What a core must know about its job, from the lease."""

    job: int
    child: int
    workers: int
    """Ranks of the whole job."""
    epoch: int
    lanes: int
    window: int
    """Slots; a power of two."""
    addresses: Addresses
    """Of contributions: from this host to the aggregator."""
    base: int = 0
    """First chunk of the epoch; 0 for a new job."""
    checksum: bool = True
    """Compute the UDP checksum, and insist on it in answers."""
    short_no_data: bool = True
    """Whether contributions without data may come without lanes."""
    minimum_rto_ns: int = MINIMUM_RTO_NS
    operation_ring: int = 1024
    """Operations that may be submitted and not yet reported; a power of two."""

    def __post_init__(self) -> None:
        for name in ("window", "operation_ring"):
            value = getattr(self, name)
            if value < 1 or value & (value - 1):
                raise ValueError(f"{name} is {value}, must be a power of two")
        if not 4 <= self.lanes <= 0xFFFF:
            raise ValueError(f"lanes is {self.lanes}, must be 4 to 65535")
        if not 1 <= self.workers <= MAXIMUM_WORKERS:
            raise ValueError(f"workers is {self.workers}, must be 1 to {MAXIMUM_WORKERS}")
        if self.epoch == 0:
            raise ValueError("epoch is 0, which no epoch is")


def ring_chunks(window: int) -> int:
    """Chunks a core keeps, and frames its pool must have: (a + 1) windows of retention, rounded up to a power of 2."""
    return max((RUN_AHEAD_WINDOWS + 2) * window, SMALLEST_RING)


def frame_stride_bytes(lanes: int) -> int:
    """Distance of frames in a pool that puts no frame's lanes across more cache lines than need be."""
    return (full_frame_bytes(lanes) + 63) // 64 * 64


class CoreMemory:
    """A core in memory of its own. ``address`` is what the compiled functions take.

    ``pool_address`` and ``stride_bytes`` say where the ``ring_chunks`` frames are that the core builds contributions
    in; ``posted_address`` where the transport writes, as one uint64 for each frame, the sequence number of its last
    posting (0 for none). Both belong to the caller and must outlive the core.
    """

    def __init__(self, settings: CoreSettings, pool_address: int, stride_bytes: int, posted_address: int) -> None:
        if stride_bytes < full_frame_bytes(settings.lanes):
            raise ValueError(
                f"frames {stride_bytes} bytes apart cannot hold {full_frame_bytes(settings.lanes)} bytes each"
            )
        self.settings = settings
        ring, lanes = ring_chunks(settings.window), settings.lanes
        sizes = {
            "core": CORE.itemsize,
            "chunks": ring * CHUNK.itemsize,
            "operations": settings.operation_ring * OPERATION.itemsize,
            "completions": settings.operation_ring * COMPLETION.itemsize,
            "ready": ring // 8,
            "blocked": ring // 8,
            "lists": 16 * LISTS,
            "template": 2 * TEMPLATE_STRIDE,
            "scratch": 4 * lanes,
            "scratch_two": 4 * lanes,
        }
        places, total = {}, 64
        for name, size in sizes.items():
            places[name] = total
            total += (size + 63) // 64 * 64
        self._block = np.zeros(total, np.uint8)
        start = self._block.ctypes.data // 64 * 64
        self.address = start + places["core"]
        offset = self.address - self._block.ctypes.data
        self.record: Array = self._block[offset : offset + CORE.itemsize].view(CORE)
        for name in list(sizes)[1:]:
            self.record[name] = start + places[name]
        self._fill(settings, ring, pool_address, stride_bytes, posted_address)
        chunks_at = start + places["chunks"] - self._block.ctypes.data
        chunks: Array = self._block[chunks_at : chunks_at + sizes["chunks"]].view(CHUNK)
        chunks["number"] = -1
        self._write_templates(start + places["template"] - self._block.ctypes.data)
        core_resume(self.address, settings.epoch, settings.base, 0)
        self.record["resumptions"] = 0

    def _fill(
        self, settings: CoreSettings, ring: int, pool_address: int, stride_bytes: int, posted_address: int
    ) -> None:
        values = {
            "address": self.address,
            "fill_function": entry_address(fill_lanes),
            "store_function": entry_address(store_lanes),
            "served_fill_function": entry_address(fill_served),
            "served_store_function": entry_address(store_served),
            "workers_log2": log2_ceiling(settings.workers),
            "ahead": RUN_AHEAD_WINDOWS,
            "pool": pool_address,
            "stride_bytes": stride_bytes,
            "posted": posted_address,
            "ring": ring,
            "state": FROZEN,
            "rto_ns": max(FIRST_RTO_NS, settings.minimum_rto_ns),
        }
        names = ("job", "child", "workers", "lanes", "window", "short_no_data", "checksum", "minimum_rto_ns")
        values |= {name: int(getattr(settings, name)) for name in (*names, "operation_ring")}
        values |= dict.fromkeys(("low", "floor", "top", "numbered_end"), settings.base)
        for name, value in values.items():
            self.record[name] = value

    def _write_templates(self, offset: int) -> None:
        settings = self.settings
        header = Header(Kind.CONTRIBUTION, settings.job, settings.child, 0, 0, 0)
        for lanes in (np.zeros(settings.lanes, np.uint32), np.empty(0, np.uint32)):
            start = build_frame(Frame(settings.addresses, header, lanes))[:LANES_AT]
            self._block[offset : offset + LANES_AT] = np.frombuffer(start, np.uint8)
            offset += TEMPLATE_STRIDE

    def statistics(self) -> dict[str, int]:
        """Counters since the core was made, by the names of ``STATISTICS`` and ``rejected_`` REASONS."""
        names = (*STATISTICS, *(f"rejected_{reason}" for reason in REASONS))
        return {name: int(self.record[name][0]) for name in names}


@dataclass(frozen=True, slots=True)
class Span:
    """Elements ``first`` to ``first + count - 1`` of a virtual tensor, in memory from ``address`` on."""

    address: int = 0
    first: int = 0
    count: int = 0


NOTHING = Span()


@dataclass(frozen=True, slots=True)
class Operation:
    """One collective on one rank; all but the spans must agree between the ranks."""

    kind: OperationKind
    dtype: DType = DType.FLOAT32
    elements: int = 0
    input: Span = NOTHING
    output: Span = NOTHING
    average: bool = False
    collective: str = ""
    root: int = -1
    served: ServedMemory | None = None
    """Of a served operation: its announcement, and where the answer goes."""


def check_operation(operation: Operation) -> None:
    """Raise OperationRefused, in words a user can act on, for what no core can carry out."""
    kind, dtype = operation.kind, operation.dtype
    name = dtype.name.lower()
    if kind in (OperationKind.SUM, OperationKind.MAX, OperationKind.MIN):
        if dtype in RAW_ONLY:
            raise OperationRefused(f"{kind.name} of {name} is not supported: convert the tensor (float64 to float32)")
        if operation.average and dtype not in FLOATS:
            raise OperationRefused(f"AVG of {name} is not supported: use SUM and divide")
    if kind > OperationKind.BARRIER and (operation.served is None or dtype not in FLOATS):
        raise OperationRefused(f"{kind.name} takes an announcement and float32, float16 or bfloat16 memory, not {name}")
    for what, span in (("input", operation.input), ("output", operation.output)):
        if span.first < 0 or span.count < 0 or span.first + span.count > operation.elements:
            text = f"elements {span.first} to {span.first + span.count}"
            raise OperationRefused(f"{what} has {text} of an operation of {operation.elements}")
    if kind in (OperationKind.MAX, OperationKind.MIN) and dtype is DType.INT64 and operation.input.count:
        given, wanted = operation.input, operation.output
        if not (wanted.first <= given.first and given.first + given.count <= wanted.first + wanted.count):
            raise OperationRefused("MIN and MAX of int64 need output memory (scratch will do) for all of the input")


def tag_of(collective: str, root: int, served: ServedMemory | None = None) -> int:
    """What an operation's hash takes of its name, its root and its announcement."""
    named = crc32(f"{collective} {root}".encode())
    return named ^ served.tag if served else named


def fill_request(request: Array, operation: Operation, scratch_address: int) -> None:
    """Write a REQUEST record (an array of one)."""
    values = {
        "kind": operation.kind,
        "dtype": operation.dtype,
        "elements": operation.elements,
        "average": operation.average,
        "tag": tag_of(operation.collective, operation.root, operation.served),
        "announcement": operation.served.address if operation.served else 0,
        "scratch_address": scratch_address,
    }
    for what, span in (("input", operation.input), ("output", operation.output)):
        values |= {f"{what}_address": span.address, f"{what}_first": span.first, f"{what}_count": span.count}
    for name, value in values.items():
        request[name] = int(value)


def scratch_for(operation: Operation, lanes: int) -> Array:
    """Scratch memory for one operation; must live until its completion. Mostly never touched, so never in memory."""
    return np.empty(scratch_bytes(operation.kind, operation.dtype, operation.elements, lanes), np.uint8)


class WorkerCore:
    """A core with a frame pool of its own; frames go in and out as bytes. One thread at a time."""

    def __init__(self, settings: CoreSettings, *, capacity: int = 4096) -> None:
        ring, self._stride = ring_chunks(settings.window), frame_stride_bytes(settings.lanes)
        self._pool = np.zeros(ring * self._stride, np.uint8)
        self.posted = np.zeros(ring, np.uint64)
        self.memory = CoreMemory(settings, self._pool.ctypes.data, self._stride, self.posted.ctypes.data)
        self.record = self.memory.record
        self._out = np.zeros(capacity, TRANSMIT)
        self._request = np.zeros(1, REQUEST)
        self._scratch: dict[int, Array] = {}

    def submit(self, operation: Operation) -> int:
        """Queue an operation; returns its sequence number.

        Raises OperationRefused, JobFailed, or BlockingIOError when too many are in flight.
        """
        check_operation(operation)
        scratch = scratch_for(operation, self.memory.settings.lanes)
        fill_request(self._request, operation, scratch.ctypes.data)
        sequence = core_submit(self.memory.address, self._request.ctypes.data)
        if sequence == JOB_FAILED:
            raise JobFailed(f"the job has failed (code {self.failure})")
        if sequence == QUEUE_FULL:
            raise BlockingIOError("too many operations in flight: take completions first")
        if sequence < 0:
            raise OperationRefused(f"operation refused: {operation}")
        self._scratch[sequence] = scratch
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
            self._scratch.pop(pair[0], None)
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
