"""The message core's memory: records and plain arrays in one block, all reached by address.

``CORE`` is the job's state on one rank, ``STREAM`` what it shares with one other rank in both directions, ``TRANSFER``
one send or receive, ``ENVELOPE`` a message of a source that has arrived and not been received yet, ``PACKET`` a frame
in flight. ``REQUEST`` is what a caller submits. Integers are 64 bits wide unless space matters.
"""

from __future__ import annotations

import numpy as np

from emulator.native.memory import record_at
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
    "not_running",
    "outside_window",
    "not_granted",
)
"""Why a received frame was left aside; ``message_receive`` returns 1 + the position, 0 for a frame that was used."""
REJECT = {name: 1 + number for number, name in enumerate(REASONS)}

STATISTICS = (
    "frames_sent",
    "bytes_sent",
    "fragments_sent",
    "late_fragments_sent",
    "acknowledgements_sent",
    "retransmissions_sent",
    "retransmitted_bytes",
    "retransmissions_by_timeout",
    "retransmissions_by_overtaking",
    "spurious_retransmissions",
    "frames_received",
    "bytes_received",
    "late_fragments_received",
    "duplicate_fragments",
    "unused_bytes",
    "acknowledgements_received",
    "sends_finished",
    "receives_finished",
    "resumptions",
)
"""``late_fragments``: what messages have more of because the peer had no buffer for data in their envelopes.
``unused_bytes``: of duplicates, and of frames that were left aside."""

CORE = np.dtype(
    [
        # what the lease says
        *_integers("job", "child", "workers", "payload_bytes", "epoch", "checksum", "minimum_rto_ns"),
        *_integers("eager_messages", "early_fragments", "grant_budget"),
        # memory
        *_integers("address", "pool", "stride_bytes", "posted", "frames", "template", "ipv4_sum"),
        *_integers(
            "streams", "transfers", "transfer_mask", "envelopes", "eager", "early", "packets", "losses", "arrivals"
        ),
        *_integers("seen", "completions", "retained"),
        # progress
        *_integers("state", "failure", "frame_next", "turn", "order", "completed", "completions_taken"),
        *_integers("any_first", "any_last"),  # posted receives from any source, in the order of posting
        *_integers("granted_receives", "unfinished", "left_peers"),
        *_integers("retained_free"),  # bit i: buffer i of ``retained`` is free
        *_integers("first_hash", "other_hash", "first_child", "other_child"),  # of a mismatch
        *_integers("left_peer"),  # who is to blame for FAILED_LEFT
        *_integers("exchange_tag", "exchange_call"),  # of the latest collective that has posted all its receives
        *_integers(*STATISTICS),
        *_integers(*(f"rejected_{reason}" for reason in REASONS)),
    ],
    align=True,
)

STREAM = np.dtype(
    [
        # to the peer: sends whose first fragment is not sent yet, and those that are under way, in message order
        *_integers("next_message", "queue_first", "queue_last", "begun_first", "begun_last"),
        *_integers("peer_low"),  # the lowest message that the peer has not matched
        *_integers("next_packet", "oldest_packet", "live", "lost_first", "lost_end"),
        *_integers("window", "threshold", "window_credit", "recovery"),
        *_integers("progress_ns", "probes"),  # when a packet was last sent or acknowledged; probes to send now
        *_integers(*ESTIMATOR_FIELDS, "backoff"),
        # from the peer
        *_integers("largest_packet"),  # -1: none yet
        *_integers("match_next", "match_low"),  # the next message to be matched; the lowest without a receive
        *_integers("advertised_low"),  # ``match_low`` in the last acknowledgement
        *_integers("unmatched_first", "unmatched_last", "posted_first", "posted_last"),
        *_integers("waiting_first", "waiting_last"),  # matched receives that are granted nothing yet
        *_integers("grant_one", "grant_two"),  # receives whose fragments may come; NONE
        *_integers("acknowledge", "acknowledge_ns", "unanswered"),  # see ACKNOWLEDGE_NOW
        *_integers("heard_ns", "regrant_ns"),
        *_integers("left_ns"),  # when the peer left the job; 0: it is here
    ],
    align=True,
)

REQUEST_FIELDS = (
    *("number", "receives", "peer", "tag", "tag_mask", "address", "length"),
    *("agreement", "call", "source_address"),
)
REQUEST = np.dtype(_integers(*REQUEST_FIELDS), align=True)
"""A send or a receive. ``number``, the first field, is the caller's, unique, and its place among the unfinished ones is
``number`` modulo ``MOST_TRANSFERS``. ``peer``: a rank, or ANY_SOURCE. A message fits a receive where their tags agree
in the bits of ``tag_mask``. ``agreement``: what both sides must say alike; ``call``: names the call in an error. A
receive's source is stored as an int64 at ``source_address``, if that is not 0."""

TRANSFER = np.dtype(
    [
        *_integers(*REQUEST_FIELDS),
        *_integers("state", "next", "order", "message", "source"),
        *_integers("eager_bytes", "fragments", "granted"),
        *_integers("sent", "acknowledged"),  # of a send: fragments from 1 on begun, fragments acknowledged
        *_integers("retained"),  # of a send: 1 + the buffer that has its data, and its caller has been told; 0
        *_integers("low", "arrived"),  # of a receive: lowest fragment missing, fragments that have come
        *_integers("early"),  # of a receive that waits for its grant: bit f: fragment f has come; so in ENVELOPE
    ],
    align=True,
)

ENVELOPE = np.dtype(
    [
        *_integers("state", "tag", "length", "eager_bytes", "early", "order", "next", "transfer"),
        ("agreement", np.uint32),
        ("call", np.uint32),
    ],
    align=True,
)

PACKET = np.dtype([*_integers("sent_ns", "fragment"), ("transfer", np.int32), ("state", np.int32)], align=True)
LOSS = np.dtype(_integers("transfer", "fragment"), align=True)
COMPLETION = np.dtype(_integers("number", "status"), align=True)

core_at = record_at(CORE)
stream_at = record_at(STREAM)
transfer_at = record_at(TRANSFER)
envelope_at = record_at(ENVELOPE)
packet_at = record_at(PACKET)
loss_at = record_at(LOSS)
completion_at = record_at(COMPLETION)
request_at = record_at(REQUEST)

STREAM_BYTES = STREAM.itemsize
TRANSFER_BYTES = TRANSFER.itemsize
ENVELOPE_BYTES = ENVELOPE.itemsize
PACKET_BYTES = PACKET.itemsize
LOSS_BYTES = LOSS.itemsize
COMPLETION_BYTES = COMPLETION.itemsize

REJECTED_AT = int((CORE.fields or {"": (CORE, 0)})["rejected_" + REASONS[0]][1])
"""Offset of the first counter of rejected frames; the others follow in order."""

RUNNING, FROZEN, FAILED = 0, 1, 2
"""A core's states, as the worker core's."""

FREE, QUEUED, BEGUN, POSTED, MATCHED = 0, 1, 2, 3, 4
"""A transfer's states: none, or finished; a send before and after its first fragment; a receive before and after it has
a message."""

ABSENT, ARRIVED, UNMATCHED, TAKEN = 0, 1, 2, 3
"""An envelope's states: not here; here, and an earlier message of its source is not; no receive fits; has a receive."""

LIVE, ACKNOWLEDGED, LOST = 1, 2, 3
"""A packet's states."""

ACKNOWLEDGE_NOW, ACKNOWLEDGE_LATER = 1, 2
"""A stream's acknowledgement is due: with the next frames; with the next message to the peer, or at
``acknowledge_ns``, or with ``unanswered`` messages."""

NONE = -1
ANY_SOURCE = -1
WHOLE_TAG = -1
"""A ``tag_mask`` under which only the very tag fits."""

MOST_TRANSFERS = 2048
"""Sends and receives of a job that may be unfinished at a time; a power of two."""
MOST_ENVELOPES = 1024
"""Messages of one source beyond the lowest unmatched one that the receiver keeps the envelopes of."""
MOST_PACKETS = 1024
"""Frames in flight from one rank to another."""
MOST_GRANTED = 1024
"""Fragments of a message beyond the lowest missing one that may be granted."""
SEEN_PACKETS = 256
"""How many of a source's latest packets an acknowledgement lists."""
RETAINED_MESSAGES = 32
"""Sends that have finished for their callers before they are acknowledged; at most 64, by the bits of a word."""
ALL_FREE = (1 << RETAINED_MESSAGES) - 1
EAGER_FRAMES, LEAST_EAGER_MESSAGES, MOST_EAGER_MESSAGES = 256, 4, 64
EARLY_MESSAGES = 4
"""Messages of one source beyond the lowest unmatched one whose first fragments may come without a grant."""
EARLY_FRAMES, MOST_EARLY_FRAGMENTS = 96, 60
"""From all sources together, as many as may be granted (the transport's ``GRANT_BUDGET``); of one source, as a word has
bits for. With two ranks and frames of 4 KiB that is 240 KiB: what shared memory carries in a grant's round trip."""


def eager_messages(workers: int) -> int:
    """Messages of one source beyond the lowest unmatched one whose first fragment may carry data: what the receiver
    has buffers for."""
    return max(LEAST_EAGER_MESSAGES, min(MOST_EAGER_MESSAGES, EAGER_FRAMES // workers))


def early_fragments(workers: int) -> int:
    """Fragments of a message, from 1 on, that may come without a grant: what the receiver has buffers for."""
    return min(MOST_EARLY_FRAGMENTS, EARLY_FRAMES // max(1, workers - 1))
