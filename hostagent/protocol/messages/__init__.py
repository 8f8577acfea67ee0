"""The message core: sends and receives between the ranks of one job, on one rank, without I/O.

Compiled functions over flat memory, which a transport's loop calls as it calls those of the worker core. Make a
``MessageMemory`` and pass its ``address``. All arguments are int64. One thread at a time per core.

    message_submit(core, request)                 number, or QUEUE_FULL, REFUSED, JOB_FAILED; REQUEST record
    message_receive(core, frame, length, now_ns)  0, or 1 + index into REASONS; the frame is only read, only now
    message_poll_transmit(core, out, capacity, consumed, now_ns)   how many TRANSMIT records were written at ``out``
    message_next_timer(core)                      when to poll at the latest; NEVER_NS
    message_take_completion(core)                 (number, status), or (-1, 0)
    message_freeze(core), message_resume(core, epoch, now_ns)
    message_fail(core, code)                      every unfinished transfer completes with ``code`` (16 and above)
    message_peer_left(core, rank, now_ns)         a rank left in order
    message_needs_left(core, now_ns)              (rank that a transfer needs and that has left or -1, when to ask)
    is_forwarded(frame, length)                   whether a received frame is for a message core

Posting is as for the worker core (``hostagent.protocol.worker``), in a frame pool of its own.
"""

from hostagent.protocol.messages.core import FRAMES, MessageMemory, MessageSettings
from hostagent.protocol.messages.frames import LEAST_PAYLOAD_BYTES, is_forwarded
from hostagent.protocol.messages.message import (
    COLLECTIVE_TAGS,
    LARGEST_TAG,
    POINT_TO_POINT,
    Message,
    message_request_of,
)
from hostagent.protocol.messages.receive import message_receive
from hostagent.protocol.messages.records import (
    ANY_SOURCE,
    MOST_ENVELOPES,
    MOST_TRANSFERS,
    REASONS,
    REQUEST,
    REQUEST_FIELDS,
    STATISTICS,
    WHOLE_TAG,
    core_at,
)
from hostagent.protocol.messages.requests import message_submit, message_take_completion
from hostagent.protocol.messages.restart import (
    message_fail,
    message_freeze,
    message_needs_left,
    message_peer_left,
    message_resume,
)
from hostagent.protocol.messages.transmit import message_next_timer, message_poll_transmit

__all__ = [
    "ANY_SOURCE",
    "COLLECTIVE_TAGS",
    "FRAMES",
    "LARGEST_TAG",
    "LEAST_PAYLOAD_BYTES",
    "MOST_ENVELOPES",
    "MOST_TRANSFERS",
    "POINT_TO_POINT",
    "REASONS",
    "REQUEST",
    "REQUEST_FIELDS",
    "STATISTICS",
    "WHOLE_TAG",
    "Message",
    "MessageMemory",
    "MessageSettings",
    "core_at",
    "is_forwarded",
    "message_fail",
    "message_freeze",
    "message_needs_left",
    "message_next_timer",
    "message_peer_left",
    "message_poll_transmit",
    "message_receive",
    "message_request_of",
    "message_resume",
    "message_submit",
    "message_take_completion",
]
