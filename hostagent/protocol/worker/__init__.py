"""The worker core: one job on one rank, without I/O. Compiled functions over flat memory, for a transport's loop.

Make a ``CoreMemory`` (settings from the lease; a frame pool of ``ring_chunks(window)`` frames, at least
``frame_stride_bytes(lanes)`` apart; an array of as many uint64 for posting numbers) and pass its ``address``. All
arguments are int64. One thread at a time per core.

    core_submit(core, request)                       sequence number, or QUEUE_FULL, REFUSED, JOB_FAILED; REQUEST record
    core_receive(core, frame, length, now_ns)        0, or 1 + index into REASONS; the frame is only read, only now
    core_poll_transmit(core, out, capacity, consumed, now_ns)   how many TRANSMIT records were written at ``out``
    core_next_timer(core)                            when to poll at the latest; NEVER_NS
    core_take_completion(core)                       (sequence, status), or (-1, 0)
    core_freeze(core)                                lowest unfinished chunk
    core_resume(core, epoch, base, now_ns)           False when the job has failed
    core_fail(core, code)                            every unfinished operation completes with ``code`` (16 and above)
    core_lowest_unfinished(core)                     the lowest chunk without a result
    frame_job(frame, length)                         job number of a received frame, -1 when too short

Posting: ``core_poll_transmit`` counts what it hands out as sent. The caller posts in order, writes each posting's
sequence number (1, 2, ...) to ``posted[order.frame]``, and passes as ``consumed`` the number of the last posting whose
reader has finished; where sending copies (udp) that is the last one posted. State is read from the CORE record:
``state``, ``failure``, ``waiting_children``, the statistics.
"""

from hostagent.protocol.worker.core import (
    CoreMemory,
    CoreSettings,
    frame_stride_bytes,
    ring_chunks,
)
from hostagent.protocol.worker.header import frame_job
from hostagent.protocol.worker.operations import (
    JOB_FAILED,
    QUEUE_FULL,
    REFUSED,
    core_submit,
    core_take_completion,
    scratch_bytes,
)
from hostagent.protocol.worker.receive import core_fail, core_receive
from hostagent.protocol.worker.records import (
    CORE,
    FAILED,
    FAILED_BY_CALLER,
    FAILED_MISMATCH,
    FAILED_REFUSED,
    FAILED_RETENTION,
    FROZEN,
    REASONS,
    RUNNING,
    STATISTICS,
    TRANSMIT,
    TRANSMIT_BYTES,
    core_at,
    transmit_at,
)
from hostagent.protocol.worker.restart import core_freeze, core_lowest_unfinished, core_resume
from hostagent.protocol.worker.retransmission import NEVER_NS, core_next_timer
from hostagent.protocol.worker.transmit import core_poll_transmit

__all__ = [
    "CORE",
    "FAILED",
    "FAILED_BY_CALLER",
    "FAILED_MISMATCH",
    "FAILED_REFUSED",
    "FAILED_RETENTION",
    "FROZEN",
    "JOB_FAILED",
    "NEVER_NS",
    "QUEUE_FULL",
    "REASONS",
    "REFUSED",
    "RUNNING",
    "STATISTICS",
    "TRANSMIT",
    "TRANSMIT_BYTES",
    "CoreMemory",
    "CoreSettings",
    "core_at",
    "core_fail",
    "core_freeze",
    "core_lowest_unfinished",
    "core_next_timer",
    "core_poll_transmit",
    "core_receive",
    "core_resume",
    "core_submit",
    "core_take_completion",
    "frame_job",
    "frame_stride_bytes",
    "ring_chunks",
    "scratch_bytes",
    "transmit_at",
]
