"""Sends and receives come in; completions go out."""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from hostagent.protocol.messages.matching import note_exchange, post_receive
from hostagent.protocol.messages.records import (
    ANY_SOURCE,
    COMPLETION_BYTES,
    FAILED,
    FREE,
    QUEUED,
    completion_at,
    core_at,
    request_at,
)
from hostagent.protocol.messages.transfers import appended, retain, stream_of, transfer_of
from hostagent.protocol.messages.transmit import pass_to_self
from hostagent.protocol.worker.operations import JOB_FAILED, QUEUE_FULL, REFUSED


@njit
def message_submit(address: int, request_address: int) -> Any:
    """Take a send or a receive, the REQUEST record at an address; its memory is used until its completion.

    Returns its number; QUEUE_FULL while its place is taken; REFUSED for a rank that the job has not or a length below
    0; JOB_FAILED.
    """
    core, request = core_at(address), request_at(request_address)
    if core.state == FAILED:
        return JOB_FAILED
    slot = request.number & core.transfer_mask
    transfer = transfer_of(core, slot)
    if transfer.state != FREE:
        return QUEUE_FULL
    least_peer = ANY_SOURCE if request.receives else 0
    if request.peer < least_peer or request.peer >= core.workers or request.length < 0:
        return REFUSED
    transfer.number = request.number
    transfer.receives = request.receives
    transfer.peer = request.peer
    transfer.tag = request.tag
    transfer.tag_mask = request.tag_mask
    transfer.address = request.address
    transfer.length = request.length
    transfer.agreement = request.agreement
    transfer.call = request.call
    transfer.source_address = request.source_address
    transfer.state = QUEUED
    transfer.acknowledged = 0
    transfer.retained = 0
    core.unfinished += 1
    if request.receives:
        post_receive(core, slot)
    else:
        stream = stream_of(core, request.peer)
        stream.queue_first, stream.queue_last = appended(core, stream.queue_first, stream.queue_last, slot)
        note_exchange(core, request.tag, request.call)
        if request.peer != core.child:
            retain(core, slot)
    pass_to_self(core)
    return request.number


@njit
def message_take_completion(address: int) -> Any:
    """(number, status) of a transfer that has ended, in the order of ending: 0, or the failure's code; (-1, 0)."""
    core = core_at(address)
    if core.completions_taken == core.completed:
        return -1, 0
    completion = completion_at(core.completions + (core.completions_taken & core.transfer_mask) * COMPLETION_BYTES)
    core.completions_taken += 1
    return completion.number, completion.status
