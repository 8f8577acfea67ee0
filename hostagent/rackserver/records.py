"""The memory that all of the server's loops share: records reached by address, and who may write which.

The server's thread writes jobs and children between batches. During a batch every core reads them, and writes only
sets (and their lanes) of blocks that it owns, and its own counters. So no set has a lock.
"""

from __future__ import annotations

import numpy as np

from emulator.native.memory import record_at
from hostagent.protocol.counters import VERDICT_COLUMNS, Drop

MAX_JOBS = 256
"""Jobs at a time, also rows of counters."""
MAX_CHILDREN = 64
"""The bitmap's width."""
JOB_NUMBERS = 1 << 16
SHORT_HEADER_AT = 128
HEADER_STRIDE = 256
"""Bytes from one child's prepared headers to the next: 66 of a full frame, and from ``SHORT_HEADER_AT`` of a short."""
BLOCK_BYTES = 32 << 10
"""The largest block: what one core owns in one piece (Parameter Hub's 8,192 float32)."""


def block_log2_of(lanes: int, window: int) -> int:
    """Chunks of a block, as a power of two: the most that fit in both 32 KB and half a window; at least one chunk."""
    fits = max(1, min(BLOCK_BYTES // (4 * lanes), window // 2))
    return fits.bit_length() - 1


def integers(*names: str) -> list[tuple[str, type]]:
    """Fields of 64 bits."""
    return [(name, np.int64) for name in names]


SERVER = np.dtype(
    [
        *integers("address", "lanes", "slots", "cores"),
        *integers("job_rows", "jobs", "children", "headers", "sets", "sums", "tx", "counters", "counter_bytes"),
        *integers("answer", "combine", "data_owner", "complete_data", "complete_control", "release_core"),
        *integers("step_chunk", "add_resync_state", "add_transferred_state"),
        *integers("full_bitmap", "forward_full_set", "answer_duplicate"),
        *integers("propagate_error", "take_rack_frame", "may_be_replaced", "send_up", "take_parent_frame"),
        *integers(
            "heads",
            "heads_bytes",
            "loads",
            "scratch",
            "scratch_bytes",
            "pending",
            "pending_bytes",
            "release",
            "thread_pool",
            "fair_queues",
            "runs",
            "picked",
        ),
    ],
    align=True,
)
"""job_rows   int16 for each job number: its row, or -1
jobs       JOB records, by row
children   CHILD records, MAX_CHILDREN to a row
headers    prepared frame headers of answers, as children
sets       SET records, two to a slot: of a job those of one window side by side, then those of the next; `set_index`
sums       lanes of each set, in the order of sets
tx         the TX_RINGs of all ports
counters   counters of core 0; those of core i are i * counter_bytes further
heads      of core 0: HEAD_BYTES for each child, as children; those of core i are i * heads_bytes further
loads      bytes of services' blocks that each core owns
answer to take_parent_frame   addresses of large functions that are called through ``compiled_calls``
scratch    private memory of core 0, those of core i are i * scratch_bytes further
pending    PENDING of core 0, those of core i are i * pending_bytes further
release    not 0: a service has withheld results that may go now
thread_pool   address of the THREAD_POOL record of threads that do the cores' parts at once; 0 for none
fair_queues   address of the FAIR_QUEUES record, where there is more than one tenant to be fair to; 0 for none
runs       by core the cells it has taken of ports' rings, ``frames.tx_slots.RUNS``
picked     by core room for MOST_PICKED numbers of frames
"""

JOB = np.dtype(
    [
        *integers("address", "job", "row", "epoch", "base", "window", "first_slot", "full", "copies"),
        *integers("short_allowed", "block_log2", "home", "service", "tier", "elsewhere"),
    ],
    align=True,
)
"""full        the bitmap of a complete set
copies      the bits of the children to whom an answer for all is sent
block_log2  chunks of a block, as a power of two
home        the core that owns what is not data of a served operation
service     address of the SERVICE record, or 0
tier        address of the TIER record of a job that is spread over racks, or 0; children of other racks are not in full
elsewhere   in a leaf of a tree the bits of the workers not below it, which are not in full; 0: it has no parent
"""

CHILD = np.dtype(
    integers("number", "port", "mac", "ip", "zero_checksum_allowed", "mask"),
    align=True,
)
"""A child, at the index of its bit. number: the child's in frames; -1 where there is none. mask: the bits that its
contributions set."""

HEAD_BYTES = 64
"""What a core keeps of the last frame that it accepted of a child, see ``validate``; zeros: there was none."""

SET = np.dtype(
    [
        ("came", np.int64),
        ("epoch", np.uint32),
        ("chunk", np.uint32),
        ("operation", np.uint32),
        ("other_operation", np.uint32),
        ("first_child", np.uint16),
        ("other_child", np.uint16),
        ("operator", np.uint8),
        ("failed", np.uint8),
        ("has_data", np.uint8),
        ("complete", np.uint8),
        ("withheld", np.uint8),
        ("short_result", np.uint8),
        ("begun", np.uint8),
        ("partial", np.uint8),
        ("total", np.uint8),
        ("total_has_data", np.uint8),
        ("marked", np.uint8),
        ("pending", np.int32),
        ("above", np.int64),
        ("asked", np.int64),
    ],
    align=True,
)
"""What a set remembers: one cache line.

has_data      a child has contributed lanes; without any the sums are zeros that have not been written
complete      all contributions have arrived, and the lanes are in network byte order
withheld      all contributions have arrived, but the result has to wait
short_result  the result has no lanes: flag no_data
begun         the set's lanes hold numbers
marked        a contribution, or the total, came with a mark of congestion (ECN): the result has it too
partial       its sum has been sent to the rack or the aggregator above, and the total has not arrived
total         the total has arrived; total_has_data: with data; in jobs with a tier, as the next two
above         the bits of the contributors reported by the rack above
asked         in jobs with a tier the bits of this rack's workers that have retransmitted since the partial sum was last
              sent; in others those of the children that need no lanes of the result
pending       the last contribution of this batch that has not been added yet, counted from 1; 0: none
"""
assert SET.itemsize == 64

COUNTERS = np.dtype(
    [
        ("verdicts", np.int64, (MAX_JOBS, MAX_CHILDREN, VERDICT_COLUMNS)),
        ("verdict_bytes", np.int64, (MAX_JOBS, VERDICT_COLUMNS)),
        ("drops", np.int64, len(Drop)),
        ("frames", np.int64),
        ("lane_bytes", np.int64),
        ("busy_ns", np.int64),
        ("steps_ns", np.int64),
        ("steps", np.int64),
        ("padding", np.int64, 16),
    ],
    align=True,
)
"""One core's: what became of frames by job row, child's bit and `Verdict`, why others were dropped, bytes
of lanes it summed, time in its parts of batches and in optimizers."""

MOST_PICKED = 1024
"""Frames of a batch that a core looks at before it does its own of them."""
MOST_PENDING = 1024
"""Contributions that a core notes before it adds them."""
TOGETHER = 4
"""Contributions that are added in one pass."""
PENDING = np.dtype(
    [
        *integers("address", "count", "open"),
        ("together", np.int64, TOGETHER),
        ("padding", np.int64, 1),
    ],
    align=True,
)
PENDING_ENTRY_BYTES = 24
PENDING_BYTES = PENDING.itemsize + MOST_PENDING * PENDING_ENTRY_BYTES
"""One core's contributions that have been accepted and not been added: those of one set are added in one pass, when the
set is complete, else at the end of the batch.

open       sets that have such contributions
together   addresses of the lanes that ``combine`` is given

Behind it are the entries, three int64 each:

lanes      address of a frame's lanes
set        the index of its set
before     the contribution to the same set that came before, counted from 1; 0: none
"""

server_at = record_at(SERVER)
pending_at = record_at(PENDING)
job_at = record_at(JOB)
child_at = record_at(CHILD)
set_at = record_at(SET)
JOB_BYTES, CHILD_BYTES, SET_BYTES = JOB.itemsize, CHILD.itemsize, SET.itemsize
