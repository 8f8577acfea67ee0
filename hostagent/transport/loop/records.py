"""The memory that Python and the compiled transport loop share: one ENGINE a process, one JOB for each process group.

Who writes what is said at each field; a word written by one side and read by the other is read and written atomically,
through the offsets below. Addresses are of memory that ``engine.Engine`` and ``job.JobChannel`` keep alive.
"""

from __future__ import annotations

import numpy as np

from emulator.native.memory import offset_of, record_at

MAX_JOBS = 128
"""Process groups that one process can be in at a time."""


def _integers(*names: str) -> list[tuple[str, type]]:
    return [(name, np.int64) for name in names]


ENGINE = np.dtype(
    [
        # written before the loop starts; ``jobs`` is an array of MAX_JOBS addresses of JOB records, 0 where there is
        # none, written by Python to have a job served and by the loop to acknowledge DETACH
        *_integers("port", "sleeper", "batch", "jobs", "slot_of_job"),
        *_integers("heartbeat_socket", "heartbeat_frame"),
        *_integers("spin_ns"),  # how long to look around before sleeping
        *_integers("second_sleeper"),  # what a thread sleeps with that has borrowed the turns; 0: they are not lent
        # written by Python while it runs
        *_integers("stop"),
        *_integers("slots_used"),  # one more than the highest slot of ``jobs`` ever filled
        # the loop's own, and the borrower's
        *_integers("driver"),  # who takes the turns: LOOP, NOBODY or BORROWER
        *_integers("borrowed"),  # how often a caller has taken the turns
        *_integers("rest_until_ns"),  # when the sleeping loop wakes by itself
        # of whoever takes the turns
        *_integers("next_heartbeat_ns", "heartbeats", "stall_ns"),
        *_integers("due_ns", "starved"),  # when the next turn is due though nothing happens; some job is starved
        *_integers("active_ns"),  # the last turn that did something
        *_integers("turns", "sleeps", "frames_received", "frames_for_no_job"),
    ],
    align=True,
)

TRANSMIT_QUEUE = np.dtype(
    [
        # written by Python before the loop serves the job: the addresses of TRANSMIT_CAPACITY TRANSMIT records, and of
        # what the port's count of posted frames was for each frame of the core's pool, or IN_TRANSIT
        *_integers("frames", "posted"),
        # the loop's own: the records that are waiting
        *_integers("first", "count"),
    ],
    align=True,
)
"""Frames that a core has handed over and the port has not taken yet."""

JOB = np.dtype(
    [
        # written by Python before the loop serves the job
        *_integers("number", "core"),
        *_integers("requests", "request_mask", "done", "done_mask"),
        *_integers("ended_ns"),  # address of when each operation ended, by its place in ``done``
        ("transmit_queue", TRANSMIT_QUEUE),
        # likewise, of the job's message core; 0 where the aggregator does not forward messages
        *_integers("messages", "message_requests", "message_done", "message_mask"),
        ("message_transmit_queue", TRANSMIT_QUEUE),
        # written by Python while the loop runs
        *_integers("request_tail"),  # requests submitted, free running
        *_integers("message_tail"),  # sends and receives submitted, free running
        *_integers("limit_chunk"),  # chunks from here on lack a rank that left
        *_integers("command", "command_code", "command_epoch", "command_base", "command_ticket"),
        *_integers("waiters"),  # threads that sleep on ``completions``
        # written by the loop
        *_integers("request_head", "command_done", "command_result", "completions"),
        *_integers("message_head"),
        *_integers("due_ns"),  # when the core wants a turn though nothing happens
        *_integers("busy"),  # something has happened to the core since its last turn
        *_integers("starved"),  # frames were unread, or the port full, at its last turn: ask again soon
    ],
    align=True,
)

ENGINE_STOP = offset_of(ENGINE, "stop")
ENGINE_DRIVER = offset_of(ENGINE, "driver")
ENGINE_SLOTS_USED = offset_of(ENGINE, "slots_used")
JOB_REQUEST_TAIL = offset_of(JOB, "request_tail")
JOB_MESSAGE_TAIL = offset_of(JOB, "message_tail")
JOB_TRANSMIT_QUEUE = offset_of(JOB, "transmit_queue")
JOB_MESSAGE_TRANSMIT_QUEUE = offset_of(JOB, "message_transmit_queue")
JOB_LIMIT = offset_of(JOB, "limit_chunk")
JOB_TICKET = offset_of(JOB, "command_ticket")
JOB_COMMAND_DONE = offset_of(JOB, "command_done")
JOB_COMPLETIONS = offset_of(JOB, "completions")
JOB_WAITERS = offset_of(JOB, "waiters")

FREEZE, RESUME, FAIL, DETACH, PEER_LEFT = 1, 2, 3, 4, 5
"""Commands; each is answered by ``command_done`` taking the value of ``command_ticket``."""

LOOP, NOBODY, BORROWER = 0, 1, 2

LEAST_STALL_NS, MOST_STALL_NS = 200_000, 50_000_000
"""How soon to look again whether the switch has read frames that a core waits to rewrite: nothing wakes us then."""

NO_LIMIT = 2**62
IN_TRANSIT = 2**62
"""``posted`` of a frame that the core has handed over and the port has not taken yet: nobody may rewrite it."""

TRANSMIT_CAPACITY = 256
RECEIVE_MOST = 32
"""Frames taken in one turn: few enough that the answers to the first leave before the last are read."""

engine_at = record_at(ENGINE)
job_at = record_at(JOB)
transmit_queue_at = record_at(TRANSMIT_QUEUE)

MESSAGE_NUMBERS = 1 << 40
"""Numbers of sends and receives begin here; those of operations stay below."""

DONE_SHIFT = 16
"""A word of ``done``: (number of the operation + 1) << 16 | status."""
