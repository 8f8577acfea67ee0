"""What a core does with a message or an acknowledgement from another rank.

A frame is trusted only when everything about it fits what may come; anything else is counted by reason and otherwise
without effect, and not acknowledged.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_be16, load_be32, load_i64, load_u8, store_i64
from hostagent.protocol.messages.frames import (
    ACKNOWLEDGEMENT,
    ACKNOWLEDGEMENT_FRAME_BYTES,
    AGREEMENT_AT,
    CALL_AT,
    DATA_AT,
    ENVELOPE_END_AT,
    GRANT_BYTES,
    GRANTS,
    GRANTS_AT,
    LENGTH_AT,
    MESSAGE,
    PACKET_AT,
    PEER_AT,
    SEEN_AT,
    TAG_AT,
    check_frame,
    expanded,
    load_be64,
)
from hostagent.protocol.messages.losses import take_acknowledged
from hostagent.protocol.messages.matching import arrival_bits, eager_buffer, early_place, grant_next, match_arrived
from hostagent.protocol.messages.records import (
    ABSENT,
    ACKNOWLEDGE_LATER,
    ACKNOWLEDGE_NOW,
    ARRIVED,
    EARLY_MESSAGES,
    MOST_ENVELOPES,
    MOST_GRANTED,
    NONE,
    REJECT,
    REJECTED_AT,
    RUNNING,
    SEEN_PACKETS,
    UNMATCHED,
    core_at,
)
from hostagent.protocol.messages.transfers import (
    data_bytes,
    eager_capacity,
    envelope_of,
    finish,
    fragment_bytes,
    fragment_offset,
    late_fragments,
    removed,
    stream_of,
    transfer_of,
)
from hostagent.protocol.worker.header import CHILD_AT, CHUNK_AT, EPOCH_AT, JOB_AT, KIND_AT, OPERATION_AT

REJECT_JOB, REJECT_EPOCH, REJECT_CHILD, REJECT_KIND = (REJECT[name] for name in ("job", "epoch", "child", "kind"))
REJECT_LENGTH, REJECT_NOT_RUNNING = REJECT["length"], REJECT["not_running"]
REJECT_WINDOW, REJECT_NOT_GRANTED = REJECT["outside_window"], REJECT["not_granted"]
DUPLICATE = -1
MOST_UNANSWERED = 8
LATER_NS = 500_000
"""How long an acknowledgement waits for a message that it can go with: far less than the least time-out."""
WORD_BITS = 64


@njit
def message_receive(address: int, frame: int, length: int, now_ns: int) -> Any:
    """Take one frame, which is only read, and only during the call.

    Returns 0 when it was used, else 1 + the reason's place in REASONS.
    """
    core = core_at(address)
    reason = validate(core, frame, length)
    if reason == 0:
        core.frames_received += 1
        core.bytes_received += length
        if load_u8(frame + KIND_AT, 0) == ACKNOWLEDGEMENT:
            reason = take_acknowledgement(core, frame, length, now_ns)
        else:
            reason = take_fragment(core, frame, length, now_ns)
    if reason != 0:
        core.unused_bytes += length
        counter = address + REJECTED_AT + 8 * (reason - 1)
        store_i64(counter, 0, load_i64(counter, 0) + 1)
    return reason


@njit(internal=True)
def validate(core: Any, frame: int, length: int) -> Any:
    """Is the frame whole, unharmed, and from one of the other ranks to this one in this epoch?"""
    reason = check_frame(frame, length, core.payload_bytes, core.checksum != 0)
    if reason != 0:
        return reason
    if load_be16(frame + JOB_AT) != core.job:
        return REJECT_JOB
    if core.state != RUNNING:
        return REJECT_NOT_RUNNING
    if load_be32(frame + EPOCH_AT) != core.epoch:
        return REJECT_EPOCH
    source = load_be16(frame + CHILD_AT)
    if source >= core.workers or source == core.child or load_be16(frame + PEER_AT) != core.child:
        return REJECT_CHILD
    kind = load_u8(frame + KIND_AT, 0)
    return 0 if kind in (MESSAGE, ACKNOWLEDGEMENT) else REJECT_KIND


# --- messages ---


@njit(internal=True)
def take_fragment(core: Any, frame: int, length: int, now_ns: int) -> Any:
    """A fragment: store it if it is the first copy; acknowledge it in either case."""
    if length < DATA_AT:
        return REJECT_LENGTH
    source = load_be16(frame + CHILD_AT)
    stream = stream_of(core, source)
    packet = expanded(load_be32(frame + PACKET_AT), stream.largest_packet)
    message = expanded(load_be32(frame + CHUNK_AT), stream.match_low)
    if packet < 0 or message < 0:
        return REJECT_WINDOW
    fragment = load_be32(frame + OPERATION_AT)
    if fragment == 0:
        reason = take_envelope(core, source, message, frame, length)
    else:
        reason = take_data(core, source, message, fragment, frame, length)
    if reason == DUPLICATE:
        core.duplicate_fragments += 1
        core.unused_bytes += length
    elif reason != 0:
        return reason
    note_packet(core, source, packet)
    answer(stream, fragment == 0 and message_is_whole(frame, length) and reason == 0, now_ns)
    stream.heard_ns = now_ns
    stream.regrant_ns = stream.rto_ns
    return 0


@njit(internal=True)
def message_is_whole(frame: int, length: int) -> Any:
    """Whether an envelope has all of its message's data."""
    return load_be64(frame + LENGTH_AT) == length - ENVELOPE_END_AT


@njit(internal=True)
def answer(stream: Any, may_wait: bool, now_ns: int) -> None:
    """A fragment has come. Few wait for the acknowledgement of a short message, unless it is repeated: it may go with a
    message to the peer, which often follows."""
    stream.unanswered += 1
    if not may_wait or stream.unanswered >= MOST_UNANSWERED:
        stream.acknowledge = ACKNOWLEDGE_NOW
    elif stream.acknowledge == 0:
        stream.acknowledge = ACKNOWLEDGE_LATER
        stream.acknowledge_ns = now_ns + LATER_NS


@njit(internal=True)
def take_envelope(core: Any, source: int, message: int, frame: int, length: int) -> Any:
    """The first fragment of a message."""
    stream = stream_of(core, source)
    if length < ENVELOPE_END_AT:
        return REJECT_LENGTH
    if message >= stream.match_low + MOST_ENVELOPES:
        stream.acknowledge = ACKNOWLEDGE_NOW  # the peer does not know of the room that there is, or asks
        return REJECT_WINDOW
    if message < stream.match_next or envelope_of(core, source, message).state == ARRIVED:
        return DUPLICATE
    message_bytes = load_be64(frame + LENGTH_AT)
    eager_bytes = length - ENVELOPE_END_AT
    if message_bytes < 0 or (eager_bytes > 0 and eager_bytes != min(message_bytes, eager_capacity(core))):
        return REJECT_LENGTH
    if eager_bytes > 0 and message >= stream.match_low + core.eager_messages:
        return REJECT_WINDOW
    envelope = envelope_of(core, source, message)
    envelope.state = ARRIVED
    envelope.tag = load_be64(frame + TAG_AT)
    envelope.length = message_bytes
    envelope.eager_bytes = eager_bytes
    envelope.early &= whole_fragments(core, message_bytes, eager_bytes)
    envelope.agreement = load_be32(frame + AGREEMENT_AT)
    envelope.call = load_be32(frame + CALL_AT)
    envelope.transfer = NONE
    core.late_fragments_received += late_fragments(core, message_bytes, eager_bytes)
    if message != stream.match_next and eager_bytes > 0:
        copy_bytes(eager_buffer(core, source, message), frame + ENVELOPE_END_AT, eager_bytes)
    match_arrived(core, source, message, frame + ENVELOPE_END_AT)
    return 0


@njit(internal=True)
def take_data(core: Any, source: int, message: int, fragment: int, frame: int, length: int) -> Any:
    """A fragment with data alone: into the memory of the receive that it was granted to."""
    stream = stream_of(core, source)
    which = granted_place(core, stream, message)
    if which == NONE:
        return take_early(core, source, message, fragment, frame, length)
    slot = int(stream.grant_one if which == 0 else stream.grant_two)
    receive = transfer_of(core, slot)
    if fragment >= receive.granted:
        return REJECT_NOT_GRANTED
    if length - DATA_AT != fragment_bytes(core, receive, fragment):
        return REJECT_LENGTH
    bits = arrival_bits(core, source, which)
    if fragment < receive.low or is_set(bits, fragment):
        return DUPLICATE
    copy_bytes(receive.address + fragment_offset(core, receive, fragment), frame + DATA_AT, length - DATA_AT)
    flip(bits, fragment)
    receive.arrived += 1
    while receive.low < receive.fragments and is_set(bits, receive.low):
        flip(bits, receive.low)
        receive.low += 1
    if receive.arrived == receive.fragments:
        finish_receive(core, stream, which, slot)
    return 0


@njit(internal=True)
def take_early(core: Any, source: int, message: int, fragment: int, frame: int, length: int) -> Any:
    """A fragment of a message that is granted nothing, or nothing yet: one of the first may come all the same."""
    stream, envelope = stream_of(core, source), envelope_of(core, source, message)
    slot = waiting_receive(core, stream, message)
    if slot != NONE:
        return take_waiting(core, stream, slot, fragment, frame, length)
    is_matched = message < stream.match_next and envelope.state not in (ARRIVED, UNMATCHED)
    if message < stream.match_low or is_matched:
        return DUPLICATE
    if message >= stream.match_low + EARLY_MESSAGES or fragment > core.early_fragments:
        return REJECT_NOT_GRANTED
    if envelope.state == ABSENT:  # its envelope is lost or late: only the length of a whole one is known
        if length - DATA_AT != data_bytes(core):
            return REJECT_NOT_GRANTED
    elif envelope.eager_bytes == 0:
        return REJECT_NOT_GRANTED
    elif length == DATA_AT or length - DATA_AT != fragment_bytes(core, envelope, fragment):
        return REJECT_LENGTH
    if envelope.early & (1 << fragment) != 0:
        return DUPLICATE
    copy_bytes(early_place(core, source, message, fragment), frame + DATA_AT, length - DATA_AT)
    envelope.early |= 1 << fragment
    return 0


@njit(internal=True)
def take_waiting(core: Any, stream: Any, slot: int, fragment: int, frame: int, length: int) -> Any:
    """A fragment of a receive that waits for its grant."""
    receive = transfer_of(core, slot)
    if fragment >= receive.granted:
        return REJECT_NOT_GRANTED
    if length - DATA_AT != fragment_bytes(core, receive, fragment):
        return REJECT_LENGTH
    if receive.early & (1 << fragment) != 0:
        return DUPLICATE
    copy_bytes(receive.address + fragment_offset(core, receive, fragment), frame + DATA_AT, length - DATA_AT)
    receive.early |= 1 << fragment
    receive.arrived += 1
    if receive.arrived == receive.fragments:
        stream.waiting_first, stream.waiting_last = removed(core, stream.waiting_first, stream.waiting_last, slot)
        finish(core, slot, 0)
    return 0


@njit(internal=True)
def waiting_receive(core: Any, stream: Any, message: int) -> Any:
    """The receive that has a message and waits for its grant; NONE."""
    slot = int(stream.waiting_first)
    while slot != NONE and transfer_of(core, slot).message != message:
        slot = int(transfer_of(core, slot).next)
    return slot


@njit(internal=True)
def whole_fragments(core: Any, length: int, eager_bytes: int) -> Any:
    """Bit f for each fragment f of a message that may have come before its envelope: all but a shorter last one."""
    if eager_bytes == 0:
        return 0
    whole = min((length - eager_bytes) // data_bytes(core), core.early_fragments)
    return (2 << whole) - 1


@njit(internal=True)
def granted_place(core: Any, stream: Any, message: int) -> Any:
    """Which of the stream's grants is for a message: 0 or 1; NONE."""
    if stream.grant_one != NONE and transfer_of(core, stream.grant_one).message == message:
        return 0
    if stream.grant_two != NONE and transfer_of(core, stream.grant_two).message == message:
        return 1
    return NONE


@njit(internal=True)
def is_set(bits: int, fragment: int) -> Any:
    """Whether a fragment has come, in a ring of MOST_GRANTED bits."""
    place = fragment & (MOST_GRANTED - 1)
    return (load_i64(bits, place // WORD_BITS) >> (place % WORD_BITS)) & 1 != 0


@njit(internal=True)
def flip(bits: int, fragment: int) -> None:
    """Note that a fragment has come; or make its place free again."""
    place = fragment & (MOST_GRANTED - 1)
    word = place // WORD_BITS
    store_i64(bits, word, load_i64(bits, word) ^ (1 << (place % WORD_BITS)))


@njit(internal=True)
def finish_receive(core: Any, stream: Any, which: int, slot: int) -> None:
    """All of a message is here: the next one's turn."""
    if which == 0:
        stream.grant_one = NONE
    else:
        stream.grant_two = NONE
    core.granted_receives -= 1
    finish(core, slot, 0)
    grant_next(core, stream)


@njit(internal=True)
def note_packet(core: Any, source: int, packet: int) -> None:
    """Remember for the acknowledgement that a packet has come."""
    stream = stream_of(core, source)
    bits = core.seen + source * (SEEN_PACKETS // 8)
    if packet > stream.largest_packet:
        for number in range(max(stream.largest_packet + 1, packet - SEEN_PACKETS + 1), packet + 1):
            place = number & (SEEN_PACKETS - 1)
            word = place // WORD_BITS
            store_i64(bits, word, load_i64(bits, word) & ~(1 << (place % WORD_BITS)))
        stream.largest_packet = packet
    if packet > stream.largest_packet - SEEN_PACKETS:
        place = packet & (SEEN_PACKETS - 1)
        word = place // WORD_BITS
        store_i64(bits, word, load_i64(bits, word) | (1 << (place % WORD_BITS)))


# --- acknowledgements ---


@njit(internal=True)
def take_acknowledgement(core: Any, frame: int, length: int, now_ns: int) -> Any:
    """What the peer has, wants, and lets come."""
    if length != ACKNOWLEDGEMENT_FRAME_BYTES:
        return REJECT_LENGTH
    peer = load_be16(frame + CHILD_AT)
    stream = stream_of(core, peer)
    largest = expanded(load_be32(frame + CHUNK_AT), stream.next_packet)
    low = expanded(load_be32(frame + OPERATION_AT), stream.peer_low)
    if largest < 0 or largest >= stream.next_packet or low > stream.next_message:
        return REJECT_WINDOW
    core.acknowledgements_received += 1
    stream.peer_low = max(stream.peer_low, low)
    for index in range(GRANTS):
        at = frame + GRANTS_AT + index * GRANT_BYTES
        end = load_be32(at + 4)
        if end > 0:
            take_grant(core, stream, load_be32(at), end)
    take_acknowledged(core, peer, largest, frame + SEEN_AT, now_ns)
    return 0


@njit(internal=True)
def take_grant(core: Any, stream: Any, message: int, end: int) -> None:
    """Fragments below ``end`` of a message may be sent; nothing where it has all been acknowledged already."""
    slot = int(stream.begun_first)
    while slot != NONE:
        transfer = transfer_of(core, slot)
        if transfer.message & 0xFFFFFFFF == message:
            transfer.granted = max(transfer.granted, min(end, transfer.fragments))
            return
        slot = int(transfer.next)
