"""A job on links with a rate, a delay, a queue and loss: worker cores around one aggregator, in virtual time.

    core 0 --up 0--> aggregator --down 0--> core 0        each link is an ``emulator.ports.impairments``
    core n --up n-->            --down n--> core n

All of it is compiled, so that a call of thousands of frames takes some milliseconds. Processing takes no time; what a
call takes is the links' doing, and the worker's: its windows and its timer. The same seed is the same run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from emulator.native.jit import njit
from emulator.native.memory import (
    copy_bytes,
    load_be32,
    load_i64,
    load_lane,
    load_u8,
    load_u32,
    record_at,
    store_be16,
    store_be32,
    store_i64,
    store_lane,
    store_u8,
    zero_bytes,
)
from emulator.native.pages import address_of
from emulator.ports.batch import FrameBatch, batch_at
from emulator.ports.impairments import (
    ImpairmentState,
    impair_next_ns,
    impair_pop,
    impair_push,
    impair_release,
)
from emulator.ports.spec import Impairments
from hostagent.protocol.dtypes import DType
from hostagent.protocol.frames import Addresses
from hostagent.protocol.operation import REQUEST, Operation, OperationKind, Span, request_of
from hostagent.protocol.wire import LANES_AT, Kind, Operator
from hostagent.protocol.worker import (
    NEVER_NS,
    TRANSMIT,
    TRANSMIT_BYTES,
    CoreMemory,
    CoreSettings,
    core_next_timer,
    core_poll_transmit,
    core_receive,
    core_submit,
    core_take_completion,
    frame_stride_bytes,
    ring_chunks,
    scratch_bytes,
    transmit_at,
)
from hostagent.protocol.worker.header import CHILD_AT, CHUNK_AT, FLAGS_AT, KIND_AT, OPERATOR_AT

JOB = 7
RESULT, WAITING, MAX_OPERATOR = int(Kind.RESULT), int(Kind.WAITING), int(Operator.MAX)
TRANSMIT_CAPACITY = 256
POP_MOST = 64
SET_BYTES = 24
"""chunk (-1: none), bitmap of the children whose contribution came, 1 when complete"""
CALL_LIMIT_NS = 3_600 * 10**9


@dataclass(frozen=True, slots=True)
class Call:
    """What one operation took, on all ranks together."""

    elapsed_ns: int
    """From its submission on all ranks to the last rank's completion."""
    retransmissions: int
    lost: int
    """Frames that the links lost, those dropped at a full queue included."""
    dropped: int
    """At a full queue."""


class PacedJob:
    """One job. Raises RuntimeError where a sum is wrong or nothing moves any more."""

    def __init__(self, ranks: int, window: int, lanes: int, impairments: Impairments) -> None:
        """``impairments`` are those of each direction of each rank's cable, by its own random numbers."""
        self.now_ns = 0
        self.lanes = lanes
        stride, ring = frame_stride_bytes(lanes), ring_chunks(window)
        self._pools = [np.zeros(ring * stride, np.uint8) for _ in range(ranks)]
        self._posted = np.zeros((ranks, ring), np.uint64)
        self.cores = [
            CoreMemory(
                CoreSettings(JOB, rank, ranks, 1, lanes, window, Addresses(1, 2, 3, 4), checksum=False),
                address_of(pool),
                stride,
                address_of(self._posted[rank]),
            )
            for rank, pool in enumerate(self._pools)
        ]
        self._links = [
            [ImpairmentState(impairments, stream=2 * rank + way, frame_bytes=stride) for rank in range(ranks)]
            for way in range(2)
        ]
        self._sets = np.zeros((2 * window, SET_BYTES // 8), np.int64)
        self._sets[:, 0] = -1
        self._sums = np.zeros((2 * window, lanes), np.int32)
        self._answer = np.zeros(stride, np.uint8)
        self._batch = FrameBatch(POP_MOST)
        self._out = np.zeros(TRANSMIT_CAPACITY, TRANSMIT)
        self._request = np.zeros(1, REQUEST)
        self._record = np.zeros(1, JOB_RECORD)
        addresses = [core.address for core in self.cores], *[[link.address for link in way] for way in self._links]
        self._addresses = np.array(addresses, np.int64)
        values = {
            "ranks": ranks,
            "window": window,
            "lanes": lanes,
            "cores": address_of(self._addresses[0]),
            "up": address_of(self._addresses[1]),
            "down": address_of(self._addresses[2]),
            "sets": address_of(self._sets),
            "sums": address_of(self._sums),
            "answer": address_of(self._answer),
            "batch": self._batch.record_address,
            "out": address_of(self._out),
        }
        for name, value in values.items():
            self._record[name] = value

    def allreduce(self, elements: int) -> Call:
        """A sum of float32 tensors of ones, in place, submitted on all ranks at the same time."""
        before = self._counters()
        tensors = [np.full(elements, 1.0, np.float32) for _ in self.cores]
        bytes_needed = scratch_bytes(int(OperationKind.SUM), int(DType.FLOAT32), False, elements, self.lanes)
        scratch = [np.empty(bytes_needed, np.uint8) for _ in self.cores]
        for core, tensor, memory in zip(self.cores, tensors, scratch, strict=True):
            span = Span(address_of(tensor), 0, elements)
            operation = Operation("all_reduce", OperationKind.SUM, "float32", 4, elements, span, span)
            self._request[0] = request_of(operation, address_of(memory))
            if core_submit(core.address, address_of(self._request)) < 0:
                raise RuntimeError("a core refuses the operation")
        end_ns = int(play(address_of(self._record), self.now_ns, self.now_ns + CALL_LIMIT_NS))
        if end_ns < 0:
            raise RuntimeError(f"the call of {elements} elements does not end")
        if not all((tensor == len(self.cores)).all() for tensor in tensors):
            raise RuntimeError("a sum is wrong")
        elapsed_ns, self.now_ns = end_ns - self.now_ns, end_ns
        after = self._counters()
        return Call(elapsed_ns, *(now - then for now, then in zip(after, before, strict=True)))

    def change(self, impairments: Impairments) -> None:
        """Of all links, from the next frame on: all but the queue and the seed."""
        for link in (link for way in self._links for link in way):
            link.configure(impairments)

    def _counters(self) -> tuple[int, int, int]:
        retransmissions = sum(int(core.record["retransmissions_sent"][0]) for core in self.cores)
        links = [link.statistics() for way in self._links for link in way]
        dropped = sum(link["dropped_full"] for link in links)
        return retransmissions, dropped + sum(link["lost"] for link in links), dropped


# --- Compiled -----------------------------------------------------------------------------------------------------

_NAMES = ("ranks", "window", "lanes", "cores", "up", "down", "sets", "sums", "answer", "batch", "out")
JOB_RECORD = np.dtype([(name, np.int64) for name in _NAMES], align=True)
job_at = record_at(JOB_RECORD)


@njit
def play(address: int, now_ns: int, limit_ns: int) -> Any:
    """Until every rank has finished an operation: when; -1: nothing moves, or not before ``limit_ns``."""
    job = job_at(address)
    left = job.ranks
    for rank in range(job.ranks):
        left -= pump(job, rank, now_ns)
    while left > 0:
        due_ns = next_ns(job)
        if due_ns >= NEVER_NS or due_ns > limit_ns:
            return -1
        now_ns = max(now_ns, due_ns)
        for rank in range(job.ranks):
            if is_due(load_i64(job.up, rank), now_ns):
                aggregate(job, rank, now_ns)
        for rank in range(job.ranks):
            if is_due(load_i64(job.down, rank), now_ns):
                deliver(job, rank, now_ns)
                left -= pump(job, rank, now_ns)
            elif core_next_timer(load_i64(job.cores, rank)) <= now_ns:
                left -= pump(job, rank, now_ns)
    return now_ns


@njit
def is_due(link: int, now_ns: int) -> bool:
    """Does the link deliver a frame now?"""
    due_ns = impair_next_ns(link)
    return bool(0 <= due_ns <= now_ns)


@njit
def next_ns(job: Any) -> Any:
    """When the next frame or timer is due."""
    earliest_ns = NEVER_NS
    for rank in range(job.ranks):
        earliest_ns = min(earliest_ns, core_next_timer(load_i64(job.cores, rank)))
        for links in (job.up, job.down):
            due_ns = impair_next_ns(load_i64(links, rank))
            if due_ns >= 0:
                earliest_ns = min(earliest_ns, due_ns)
    return earliest_ns


@njit
def pump(job: Any, rank: int, now_ns: int) -> int:
    """Put on the link what a core wants to send; how many operations it has finished."""
    core, link = load_i64(job.cores, rank), load_i64(job.up, rank)
    count = TRANSMIT_CAPACITY
    while count == TRANSMIT_CAPACITY:
        count = core_poll_transmit(core, job.out, TRANSMIT_CAPACITY, NEVER_NS, now_ns)
        for index in range(count):
            order = transmit_at(job.out + index * TRANSMIT_BYTES)
            impair_push(link, np.int64(order.address), np.int64(order.length), now_ns)
    finished = 0
    while core_take_completion(core)[0] >= 0:
        finished += 1
    return finished


@njit
def deliver(job: Any, rank: int, now_ns: int) -> None:
    """Give a core the answers that are due."""
    link, batch = load_i64(job.down, rank), batch_at(job.batch)
    batch.count = 0
    impair_pop(link, job.batch, rank, POP_MOST, now_ns)
    for index in range(batch.count):
        frame, length = load_i64(batch.addresses, index), load_u32(batch.lengths, index)
        core_receive(load_i64(job.cores, rank), frame, length, now_ns)
    impair_release(link)


@njit
def aggregate(job: Any, rank: int, now_ns: int) -> None:
    """Give the aggregator the contributions of a rank that are due."""
    link, batch = load_i64(job.up, rank), batch_at(job.batch)
    batch.count = 0
    impair_pop(link, job.batch, rank, POP_MOST, now_ns)
    for index in range(batch.count):
        contribute(job, rank, load_i64(batch.addresses, index), now_ns)
    impair_release(link)


@njit
def contribute(job: Any, rank: int, frame: int, now_ns: int) -> None:
    """The slot rule (PROTOCOL.md, section 5.3) in an epoch that begins at chunk 0 and in which nobody disagrees."""
    chunk = np.int64(load_be32(frame + CHUNK_AT))
    place = chunk % (2 * job.window)
    state = job.sets + place * SET_BYTES
    held, everyone = load_i64(state, 0), (1 << job.ranks) - 1
    sums = job.sums + place * 4 * job.lanes
    if held != chunk:
        is_successor = held >= 0 and chunk == held + 2 * job.window and load_i64(state, 1) == everyone
        if not is_successor and not (held < 0 and chunk < 2 * job.window):
            return
        store_i64(state, 0, chunk)
        store_i64(state, 1, 0)
    came = load_i64(state, 1)
    if came & (1 << rank) != 0:
        is_complete = came == everyone
        write_answer(job, frame, RESULT if is_complete else WAITING, sums, came)
        send_answer(job, rank, now_ns)
        return
    add(job, sums, frame + LANES_AT, came == 0, load_u8(frame + OPERATOR_AT, 0) == MAX_OPERATOR)
    came |= 1 << rank
    store_i64(state, 1, came)
    if came == everyone:
        write_answer(job, frame, RESULT, sums, came)
        for child in range(job.ranks):
            send_answer(job, child, now_ns)


@njit
def add(job: Any, sums: int, lanes: int, is_first: bool, is_maximum: bool) -> None:
    """A contribution's lanes into a set's."""
    for lane in range(job.lanes):
        value: Any = load_lane(lanes, lane)
        held = load_lane(sums, lane)
        if not is_first:
            value = np.int32(max(held, value) if is_maximum else held + value)
        store_lane(sums, lane, value)


@njit
def write_answer(job: Any, frame: int, kind: int, sums: int, came: int) -> None:
    """The answer to a contribution, but for its child."""
    lanes = job.answer + LANES_AT
    copy_bytes(job.answer, frame, LANES_AT)
    store_u8(job.answer + KIND_AT, 0, kind)
    store_u8(job.answer + FLAGS_AT, 0, 0)
    if kind == RESULT:
        copy_bytes(lanes, sums, 4 * job.lanes)
    else:
        zero_bytes(lanes, 4 * job.lanes)
        store_be32(lanes, came >> 32)
        store_be32(lanes + 4, came & 0xFFFFFFFF)


@njit
def send_answer(job: Any, child: int, now_ns: int) -> None:
    """To one child."""
    store_be16(job.answer + CHILD_AT, child)
    impair_push(load_i64(job.down, child), job.answer, LANES_AT + 4 * job.lanes, now_ns)
