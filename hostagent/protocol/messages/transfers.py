"""Records by their numbers, lists of transfers, fragments of a message, and a transfer's end."""

from __future__ import annotations

from typing import Any

from emulator.native.arithmetic import trailing_zeros
from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, store_i64
from hostagent.protocol.messages.frames import DATA_AT, ENVELOPE_END_AT
from hostagent.protocol.messages.records import (
    COMPLETION_BYTES,
    ENVELOPE_BYTES,
    FAILED,
    FREE,
    MOST_ENVELOPES,
    MOST_PACKETS,
    NONE,
    PACKET_BYTES,
    QUEUED,
    STREAM_BYTES,
    TRANSFER_BYTES,
    completion_at,
    envelope_at,
    packet_at,
    stream_at,
    transfer_at,
)
from hostagent.protocol.wire import LANES_AT


@njit(internal=True)
def stream_of(core: Any, peer: int) -> Any:
    """What is shared with a rank."""
    return stream_at(core.streams + peer * STREAM_BYTES)


@njit(internal=True)
def transfer_of(core: Any, slot: int) -> Any:
    """The transfer at a place."""
    return transfer_at(core.transfers + slot * TRANSFER_BYTES)


@njit(internal=True)
def envelope_of(core: Any, source: int, message: int) -> Any:
    """A source's envelope at the place of a message."""
    place = source * MOST_ENVELOPES + (message & (MOST_ENVELOPES - 1))
    return envelope_at(core.envelopes + place * ENVELOPE_BYTES)


@njit(internal=True)
def packet_of(core: Any, peer: int, packet: int) -> Any:
    """A frame in flight to a rank, by its packet number."""
    place = peer * MOST_PACKETS + (packet & (MOST_PACKETS - 1))
    return packet_at(core.packets + place * PACKET_BYTES)


# --- fragments of a message ---


@njit(internal=True)
def data_bytes(core: Any) -> Any:
    """Data in a whole fragment from 1 on."""
    return core.payload_bytes - (DATA_AT - LANES_AT)


@njit(internal=True)
def eager_capacity(core: Any) -> Any:
    """Data that fits behind an envelope."""
    return core.payload_bytes - (ENVELOPE_END_AT - LANES_AT)


@njit(internal=True)
def late_fragments(core: Any, length: int, eager_bytes: int) -> Any:
    """How many fragments more a message has than if its envelope carried all the data it can."""
    most = min(length, eager_capacity(core))
    return count_fragments(core, length, eager_bytes) - count_fragments(core, length, most)


@njit(internal=True)
def count_fragments(core: Any, length: int, eager_bytes: int) -> Any:
    """Number of fragments of a message of ``length`` bytes, the first ``eager_bytes`` of which go with its envelope."""
    whole = data_bytes(core)
    return 1 + (length - eager_bytes + whole - 1) // whole


@njit(internal=True)
def fragment_offset(core: Any, transfer: Any, fragment: int) -> Any:
    """Where the data of a fragment from 1 on is in the message."""
    return transfer.eager_bytes + (fragment - 1) * data_bytes(core)


@njit(internal=True)
def fragment_bytes(core: Any, transfer: Any, fragment: int) -> Any:
    """Data of a fragment from 1 on."""
    return min(data_bytes(core), transfer.length - fragment_offset(core, transfer, fragment))


# --- a transfer's end ---


@njit(internal=True)
def retain(core: Any, slot: int) -> None:
    """Keep a copy of a short send's data, so that the send ends for its caller before it is acknowledged."""
    send = transfer_of(core, slot)
    if send.state != QUEUED or core.retained_free == 0 or send.length > eager_capacity(core):
        return
    place = trailing_zeros(core.retained_free)
    core.retained_free &= ~(1 << place)
    send.retained = 1 + place
    buffer = core.retained + place * eager_capacity(core)
    copy_bytes(buffer, send.address, send.length)
    send.address = buffer
    complete(core, send, 0)


@njit(internal=True)
def finish(core: Any, slot: int, status: int) -> None:
    """A transfer has ended; its place is free once the caller has taken the completion."""
    transfer = transfer_of(core, slot)
    if transfer.state == FREE:
        return
    transfer.state = FREE
    core.unfinished -= 1
    if status == 0:
        if transfer.receives:
            core.receives_finished += 1
        else:
            core.sends_finished += 1
    if transfer.retained:
        core.retained_free |= 1 << (transfer.retained - 1)
        transfer.retained = 0
    else:
        complete(core, transfer, status)


@njit(internal=True)
def complete(core: Any, transfer: Any, status: int) -> None:
    """Tell the caller that a transfer has ended."""
    completion = completion_at(core.completions + (core.completed & core.transfer_mask) * COMPLETION_BYTES)
    completion.number = transfer.number
    completion.status = status
    core.completed += 1


@njit(internal=True)
def store_source(transfer: Any, source: int) -> None:
    """Report the source of a receive's message to its caller."""
    transfer.source = source
    if transfer.source_address != 0:
        store_i64(transfer.source_address, source)


@njit(internal=True)
def fail(core: Any, code: int) -> None:
    """End the job: unfinished transfers complete with this code, nothing is sent any more. The first cause stays."""
    if core.state == FAILED:
        return
    core.state = FAILED
    core.failure = code
    for slot in range(core.transfer_mask + 1):
        finish(core, slot, code)


# --- singly linked lists of transfers: (first, last), NONE when empty ---


@njit(internal=True)
def appended(core: Any, first: int, last: int, slot: int) -> Any:
    """The ends of a list with one more transfer behind it."""
    transfer_of(core, slot).next = NONE
    if first == NONE:
        return slot, slot
    transfer_of(core, last).next = slot
    return first, slot


@njit(internal=True)
def removed(core: Any, first: int, last: int, slot: int) -> Any:
    """The ends of a list without one of its transfers."""
    before, at = NONE, first
    while at != slot:
        before, at = at, transfer_of(core, at).next
    after = transfer_of(core, slot).next
    if before == NONE:
        first = after
    else:
        transfer_of(core, before).next = after
    if after == NONE:
        last = before
    return first, last
