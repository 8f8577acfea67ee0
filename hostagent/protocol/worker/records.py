"""The worker core's memory: three kinds of records and a few plain arrays in one block, all reached by address.

``CORE`` is the job's state on one rank, ``OPERATION`` one collective, ``CHUNK`` one number of the job's chunk
sequence. Operations live in a ring by sequence number, chunks (and their frames in the pool) in a ring by chunk
number. ``REQUEST`` is what a caller submits, ``TRANSMIT`` and ``COMPLETION`` what it gets back. Integers are 64 bits
wide unless space matters.
"""

from __future__ import annotations

import numpy as np

from emulator.native.memory import record_at
from hostagent.protocol.operation import REQUEST
from hostagent.protocol.worker.latency import BUCKETS
from hostagent.protocol.worker.round_trip import ESTIMATOR_FIELDS


def _integers(*names: str) -> list[tuple[str, type]]:
    return [(name, np.int64) for name in names]


REASONS = (
    "length",
    "not_ours",
    "checksum",
    "job",
    "epoch",
    "child",
    "kind",
    "operator",
    "operation",
    "not_in_flight",
    "not_running",
)
"""Why a received frame was left aside; ``core_receive`` returns 1 + the position, 0 for a frame that was used."""
REJECT = {name: 1 + number for number, name in enumerate(REASONS)}

STATISTICS = (
    "frames_sent",
    "bytes_sent",
    "retransmissions_sent",
    "retransmitted_bytes",
    "retransmissions_by_timeout",
    "retransmissions_by_overtaking",
    "results_received",
    "duplicate_results",
    "waiting_received",
    "marks_received",
    "errors_received",
    "unused_bytes",
    "chunks_stored",
    "operations_finished",
    "resumptions",
)
"""``unused_bytes``: of all received frames but a chunk's first result."""

CORE = np.dtype(
    [
        # what the lease says
        *_integers(
            "job", "child", "workers", "workers_log2", "lanes", "window", "largest_window", "ahead", "epoch", "base"
        ),
        *_integers("short_no_data", "checksum", "minimum_rto_ns", "share"),
        # memory
        *_integers("address", "fill_function", "store_function", "served_fill_function", "served_store_function"),
        *_integers("pool", "stride_bytes", "posted", "ring", "chunks", "operations", "operation_ring", "completions"),
        *_integers("ready", "blocked", "lists", "template", "scratch", "scratch_two", "digits", "unused_frames"),
        # progress
        # ``retained``: the lowest chunk whose frame is kept; ``unused`` of the pool's frames are in ``unused_frames``
        *_integers("state", "low", "floor", "top", "numbered_end", "retained", "unused"),
        *_integers("first_operation", "numbered_operations", "submitted_operations", "sending_operation"),
        *_integers("completed", "completions_taken", "tails"),
        # retransmission and congestion window
        *_integers(*(name for name in ESTIMATOR_FIELDS if name != "minimum_rto_ns")),
        *_integers("backoff", "timer_began_ns", "result_ns", "answered_ns", "answered_number", "answered_rtt_ns"),
        *_integers("repeated_ns", "repeated_rtt_ns", "late_share"),
        *_integers("shorter_path_slots", "shorter_answered_ns", "has_reports"),
        *_integers("congestion_window", "in_flight", "slow_start", "limited", "path_rtt_ns", "best_rate"),
        *_integers("rounds", "round_began_ns", "round_least_ns", "round_samples", "round_results", "round_losses"),
        *_integers("lost_round", "starved_rounds", "held_until_round", "hold_rounds"),
        *_integers("burst", "burst_began_ns", "burst_results"),
        *_integers("trial_round", "tried_window", "tried_rtt_ns", "marked_round", "reduced_ns"),
        # who is missing, and why it failed
        *_integers("waiting_chunk", "waiting_children"),
        *_integers("failure", "first_hash", "other_hash", "first_child", "other_child", "failed_chunk"),
        *_integers("refused_operation", "refused_status"),
        *_integers(*STATISTICS),
        *_integers(*(f"rejected_{reason}" for reason in REASONS)),
        ("latencies", np.int64, (BUCKETS,)),  # chunks; see ``latency``
    ],
    align=True,
)

OPERATION = np.dtype(
    [
        *((name, REQUEST.fields[name][0]) for name in REQUEST.names or () if REQUEST.fields),
        *_integers("sequence", "hash", "element_bytes", "per_chunk", "chunks", "groups", "group_chunks"),
        *_integers("lead", "first", "count", "numbered", "tail", "tail_groups", "numbered_groups", "data_frames"),
        *_integers("stored", "exponents_stored", "flagged", "finished"),
    ],
    align=True,
)

CHUNK = np.dtype(
    [
        *_integers("number", "first_sent_ns", "sent_ns", "reported_ns", "built_epoch", "seen_epoch"),
        ("operation_hash", np.uint32),
        ("operation_slot", np.int32),
        ("index", np.int32),
        ("length", np.int32),
        ("frame", np.int32),
        ("previous", np.int32),
        ("next", np.int32),
        ("tries", np.int32),
        ("part", np.int8),
        ("operator", np.int8),
        ("short_result", np.int8),
        ("stored", np.int8),
        ("list", np.int8),
        ("is_lost", np.int8),
    ],
    align=True,
)

TRANSMIT = np.dtype([("address", np.uint64), ("length", np.uint32), ("frame", np.uint32)], align=True)
"""A frame to post: where it is, its bytes, and its number in the core's pool (the index into ``posted``)."""

COMPLETION = np.dtype(_integers("sequence", "status"), align=True)
"""An operation that ended: status 0, or the failure's code."""

REJECTED_AT = int((CORE.fields or {"": (CORE, 0)})["rejected_" + REASONS[0]][1])
"""Offset of the first counter of rejected frames; the others follow in order."""

LATENCY_AT = int((CORE.fields or {"": (CORE, 0)})["latencies"][1])

core_at = record_at(CORE)
operation_at = record_at(OPERATION)
chunk_at = record_at(CHUNK)
transmit_at = record_at(TRANSMIT)
completion_at = record_at(COMPLETION)

OPERATION_BYTES = OPERATION.itemsize
CHUNK_BYTES = CHUNK.itemsize
TRANSMIT_BYTES = TRANSMIT.itemsize
COMPLETION_BYTES = COMPLETION.itemsize

RUNNING, FROZEN, FAILED = 0, 1, 2
"""A core's states: sending and receiving; between freeze and resume; for ever, with a cause."""

FAILED_MISMATCH, FAILED_RETENTION, FAILED_REFUSED, FAILED_BY_CALLER = 1, 2, 3, 16
"""Failure codes: two children disagree (hashes and children are in the core); the controller resumes at a chunk that is
no longer retained; a server refuses a served operation (which, and why, is in the core); 16 and above: for the
caller."""

EXPONENT, DATA, TAIL_EXPONENT, TAIL_DATA, HIGH, LOW, ANNOUNCED = 0, 1, 2, 3, 4, 5, 6
"""A chunk's part in its operation; see ``plan``."""

NO_LIST, FRESH, REPEATED, WAITED, DUE = 0, 1, 2, 3, 4
"""Where a chunk in flight is: sent once and unanswered, sent again and unanswered, known to have arrived, to be sent
again; see ``lists``."""
