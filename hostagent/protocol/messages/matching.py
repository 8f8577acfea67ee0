"""MPI's matching: receives in the order of posting, the messages of each source in the order of sending.

An envelope is looked at once all earlier ones of its source have been. It goes to the first posted receive that fits
its source and tag; where none does it stays, and the next receive that fits takes it. A receive from any source takes
of several the one that has waited longest.
"""

from __future__ import annotations

from typing import Any

from emulator.native.arithmetic import trailing_zeros
from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, store_i64
from hostagent.protocol.messages.frames import GRANTS
from hostagent.protocol.messages.message import COLLECTIVE_TAGS
from hostagent.protocol.messages.records import (
    ABSENT,
    ACKNOWLEDGE_NOW,
    ANY_SOURCE,
    ARRIVED,
    EARLY_MESSAGES,
    MATCHED,
    MOST_GRANTED,
    NONE,
    POSTED,
    TAKEN,
    UNMATCHED,
)
from hostagent.protocol.messages.transfers import (
    appended,
    count_fragments,
    data_bytes,
    eager_capacity,
    envelope_of,
    fail,
    finish,
    fragment_bytes,
    fragment_offset,
    removed,
    store_source,
    stream_of,
    transfer_of,
)
from hostagent.protocol.worker.records import FAILED_MISMATCH

UNKNOWN_ORDER = 2**62
LEAST_GRANT = 4
"""Fragments of a message that may always be under way, however many messages come to this rank."""


@njit(internal=True)
def eager_buffer(core: Any, source: int, message: int) -> Any:
    """Where the data that came with an unmatched envelope is kept."""
    place = source * core.eager_messages + message % core.eager_messages
    return core.eager + place * eager_capacity(core)


@njit(internal=True)
def early_place(core: Any, source: int, message: int, fragment: int) -> Any:
    """Where the data of a fragment that came without a grant is kept until its message has a receive."""
    place = source * EARLY_MESSAGES + message % EARLY_MESSAGES
    return core.early + (place * core.early_fragments + fragment - 1) * data_bytes(core)


@njit(internal=True)
def fits(receive: Any, envelope: Any) -> Any:
    """Does a receive want a message with this tag?"""
    return (receive.tag ^ envelope.tag) & receive.tag_mask == 0


# --- a receive is posted ---


@njit(internal=True)
def post_receive(core: Any, slot: int) -> None:
    """Give a receive the message that waits for it, or let it wait for one."""
    receive = transfer_of(core, slot)
    source, message = NONE, NONE
    if receive.peer == ANY_SOURCE:
        best = UNKNOWN_ORDER
        for each in range(core.workers):
            found = first_unmatched(core, each, receive)
            if found != NONE and envelope_of(core, each, found).order < best:
                best = envelope_of(core, each, found).order
                source, message = each, found
    else:
        source = int(receive.peer)
        message = first_unmatched(core, source, receive)
    if message != NONE:
        leave_unmatched(core, source, message)
        bind(core, slot, source, message, eager_buffer(core, source, message))
        return
    receive.state = POSTED
    receive.order = core.order
    core.order += 1
    if receive.peer == ANY_SOURCE:
        core.any_first, core.any_last = appended(core, core.any_first, core.any_last, slot)
    else:
        stream = stream_of(core, receive.peer)
        stream.posted_first, stream.posted_last = appended(core, stream.posted_first, stream.posted_last, slot)


@njit(internal=True)
def first_unmatched(core: Any, source: int, receive: Any) -> Any:
    """A source's first waiting message that the receive wants; NONE."""
    message = int(stream_of(core, source).unmatched_first)
    while message != NONE and not fits(receive, envelope_of(core, source, message)):
        message = int(envelope_of(core, source, message).next)
    return message


@njit(internal=True)
def enter_unmatched(core: Any, source: int, message: int) -> None:
    """No receive fits: the message waits, behind the earlier ones of its source."""
    stream, envelope = stream_of(core, source), envelope_of(core, source, message)
    envelope.state = UNMATCHED
    envelope.order = core.order
    core.order += 1
    envelope.next = NONE
    if stream.unmatched_first == NONE:
        stream.unmatched_first = message
    else:
        envelope_of(core, source, stream.unmatched_last).next = message
    stream.unmatched_last = message


@njit(internal=True)
def leave_unmatched(core: Any, source: int, message: int) -> None:
    """A waiting message has got its receive."""
    stream = stream_of(core, source)
    before, at = NONE, int(stream.unmatched_first)
    while at != message:
        before, at = at, int(envelope_of(core, source, at).next)
    after = envelope_of(core, source, message).next
    if before == NONE:
        stream.unmatched_first = after
    else:
        envelope_of(core, source, before).next = after
    if after == NONE:
        stream.unmatched_last = before


# --- an envelope arrives ---


@njit(internal=True)
def match_arrived(core: Any, source: int, frame_message: int, frame_data: int) -> None:
    """Match what has arrived in order. The data of ``frame_message`` is still in the frame, at ``frame_data``."""
    stream = stream_of(core, source)
    while core.failure == 0 and envelope_of(core, source, stream.match_next).state == ARRIVED:
        message = int(stream.match_next)
        stream.match_next += 1
        in_frame = message == frame_message
        slot = wanting(core, source, message)
        if slot != NONE:
            bind(core, slot, source, message, frame_data if in_frame else eager_buffer(core, source, message))
            continue
        envelope = envelope_of(core, source, message)
        if in_frame and envelope.eager_bytes > 0:
            copy_bytes(eager_buffer(core, source, message), frame_data, envelope.eager_bytes)
        enter_unmatched(core, source, message)
        refuse_stray(core, source, message)


@njit(internal=True)
def wanting(core: Any, source: int, message: int) -> Any:
    """The receive posted first of those that fit a message, taken out of its list; NONE."""
    stream, envelope = stream_of(core, source), envelope_of(core, source, message)
    ours = first_fitting(core, stream.posted_first, envelope)
    anyones = first_fitting(core, core.any_first, envelope)
    if ours == NONE and anyones == NONE:
        return NONE
    if ours == NONE or (anyones != NONE and transfer_of(core, anyones).order < transfer_of(core, ours).order):
        core.any_first, core.any_last = removed(core, core.any_first, core.any_last, anyones)
        return anyones
    stream.posted_first, stream.posted_last = removed(core, stream.posted_first, stream.posted_last, ours)
    return ours


@njit(internal=True)
def first_fitting(core: Any, slot: int, envelope: Any) -> Any:
    """The first receive of a list that wants the message; NONE."""
    while slot != NONE and not fits(transfer_of(core, slot), envelope):
        slot = int(transfer_of(core, slot).next)
    return slot


# --- messages of a collective that this rank takes part in otherwise ---


@njit(internal=True)
def note_exchange(core: Any, tag: int, call: int) -> None:
    """A send of a collective has been submitted: the collective's receives, and those of all before it, are posted."""
    if tag < COLLECTIVE_TAGS or tag <= core.exchange_tag:
        return
    core.exchange_tag, core.exchange_call = tag, call
    for source in range(core.workers):
        message = int(stream_of(core, source).unmatched_first)
        while message != NONE and core.failure == 0:
            refuse_stray(core, source, message)
            message = int(envelope_of(core, source, message).next)


@njit(internal=True)
def refuse_stray(core: Any, source: int, message: int) -> None:
    """Fail where no receive will ever want the message: as if two ranks are the root of one scatter."""
    envelope = envelope_of(core, source, message)
    if COLLECTIVE_TAGS <= envelope.tag <= core.exchange_tag:
        note_mismatch(core, core.exchange_call, source, message)
        fail(core, FAILED_MISMATCH)


@njit(internal=True)
def note_mismatch(core: Any, call: int, source: int, message: int) -> None:
    """Note both calls of a mismatch, this rank's and that of a message."""
    core.first_hash, core.first_child = call, core.child
    core.other_hash, core.other_child = int(envelope_of(core, source, message).call), source


# --- a receive has its message ---


@njit(internal=True)
def bind(core: Any, slot: int, source: int, message: int, data: int) -> None:
    """Give a message to a receive: what has come of it is at ``data``, the rest will be granted."""
    stream, receive = stream_of(core, source), transfer_of(core, slot)
    envelope = envelope_of(core, source, message)
    envelope.state = TAKEN
    receive.state = MATCHED
    receive.message = message
    store_source(receive, source)
    is_mismatch = receive.agreement != envelope.agreement or receive.length != envelope.length
    sender = int(envelope.transfer)
    eager_bytes, early = int(envelope.eager_bytes), int(envelope.early)
    envelope.early = 0
    if is_mismatch:
        note_mismatch(core, receive.call, source, message)
    while stream.match_low < stream.match_next and envelope_of(core, source, stream.match_low).state == TAKEN:
        envelope_of(core, source, stream.match_low).state = ABSENT
        stream.match_low += 1
    if stream.match_low - stream.advertised_low >= core.eager_messages // 2:
        stream.acknowledge = ACKNOWLEDGE_NOW  # the sender may send more envelopes, with data
    if is_mismatch:
        fail(core, FAILED_MISMATCH)
    elif source == core.child:
        copy_bytes(receive.address, transfer_of(core, sender).address, receive.length)
        finish(core, slot, 0)
        finish(core, sender, 0)
    else:
        begin_receive(core, slot, eager_bytes, data, early)


@njit(internal=True)
def begin_receive(core: Any, slot: int, eager_bytes: int, data: int, early: int) -> None:
    """Take what came with the envelope and right behind it; what is missing waits for its grant."""
    receive = transfer_of(core, slot)
    if eager_bytes > 0:
        copy_bytes(receive.address, data, eager_bytes)
    if eager_bytes == receive.length:
        finish(core, slot, 0)
        return
    receive.eager_bytes = eager_bytes
    receive.fragments = count_fragments(core, receive.length, eager_bytes)
    receive.low = receive.arrived = 1
    receive.granted = min(receive.fragments, 1 + core.early_fragments)
    receive.early = early
    while early != 0:
        fragment = trailing_zeros(early)
        early &= early - 1
        place = receive.address + fragment_offset(core, receive, fragment)
        kept = early_place(core, receive.source, receive.message, fragment)
        copy_bytes(place, kept, fragment_bytes(core, receive, fragment))
        receive.arrived += 1
    if receive.arrived == receive.fragments:
        finish(core, slot, 0)
        return
    stream = stream_of(core, receive.source)
    stream.waiting_first, stream.waiting_last = appended(core, stream.waiting_first, stream.waiting_last, slot)
    grant_next(core, stream)


@njit(internal=True)
def grant_next(core: Any, stream: Any) -> None:
    """Let the fragments of the next matched receives come: of two messages of a source at a time."""
    while stream.waiting_first != NONE and (stream.grant_one == NONE or stream.grant_two == NONE):
        slot = int(stream.waiting_first)
        stream.waiting_first, stream.waiting_last = removed(core, slot, stream.waiting_last, slot)
        which = 0 if stream.grant_one == NONE else 1
        if which == 0:
            stream.grant_one = slot
        else:
            stream.grant_two = slot
        note_early(core, slot, which)
        core.granted_receives += 1
        stream.acknowledge = ACKNOWLEDGE_NOW


@njit(internal=True)
def note_early(core: Any, slot: int, which: int) -> None:
    """Note among the granted fragments those that came before the grant."""
    receive = transfer_of(core, slot)
    early = int(receive.early)
    while early & (1 << receive.low) != 0:
        early ^= 1 << receive.low
        receive.low += 1
    store_i64(arrival_bits(core, receive.source, which), 0, early)


@njit(internal=True)
def arrival_bits(core: Any, source: int, which: int) -> Any:
    """Bits of the granted fragments that have come, in a ring of MOST_GRANTED, of the first or second grant."""
    return core.arrivals + (GRANTS * source + which) * (MOST_GRANTED // 8)


@njit(internal=True)
def granted_end(core: Any, receive: Any) -> Any:
    """Fragments of a receive that may come now: its part of what all sources may have under way to this rank."""
    part = max(core.grant_budget // max(core.granted_receives, 1), LEAST_GRANT)
    receive.granted = max(receive.granted, min(receive.fragments, receive.low + min(part, MOST_GRANTED)))
    return receive.granted
