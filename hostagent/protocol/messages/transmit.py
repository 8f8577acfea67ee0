"""What a core sends: acknowledgements, then of each stream in turn lost fragments, envelopes, and granted fragments.

Every transmission builds its frame again from the sender's memory, in a ring that all streams share: a frame is free
again when the port has read its last posting.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_i64, store_be32
from hostagent.protocol.messages.frames import (
    ACKNOWLEDGEMENT,
    ACKNOWLEDGEMENT_FRAME_BYTES,
    AGREEMENT_AT,
    CALL_AT,
    DATA_AT,
    ENVELOPE_END_AT,
    GRANT_BYTES,
    GRANTS_AT,
    LENGTH_AT,
    MESSAGE,
    PACKET_AT,
    SEEN_AT,
    TAG_AT,
    store_be64,
    write_end,
    write_start,
)
from hostagent.protocol.messages.losses import enter_packet, loss_of, probe_silence, timer_ns
from hostagent.protocol.messages.matching import granted_end, match_arrived
from hostagent.protocol.messages.records import (
    ACKNOWLEDGE_LATER,
    ACKNOWLEDGE_NOW,
    ARRIVED,
    BEGUN,
    EARLY_MESSAGES,
    MOST_ENVELOPES,
    MOST_PACKETS,
    NONE,
    RUNNING,
    SEEN_PACKETS,
    core_at,
)
from hostagent.protocol.messages.transfers import (
    appended,
    count_fragments,
    eager_capacity,
    envelope_of,
    fragment_bytes,
    fragment_offset,
    late_fragments,
    removed,
    stream_of,
    transfer_of,
)
from hostagent.protocol.worker.records import TRANSMIT_BYTES, transmit_at
from hostagent.protocol.worker.retransmission import NEVER_NS
from hostagent.protocol.worker.round_trip import LARGEST_RTO_NS

TURN_FRAMES = 8
"""Frames that one stream sends before it is the next one's turn."""


@njit
def message_poll_transmit(address: int, out: int, capacity: int, consumed: int, now_ns: int) -> Any:
    """Frames to post now, in order, as TRANSMIT records at ``out``; returns how many (at most ``capacity``).

    All of them count as sent; ``consumed`` and ``posted`` are as for the worker core. Also does what the timer is for.
    Call it after receiving, after submitting, when ``message_next_timer`` is due, and when frames are free again.
    """
    core = core_at(address)
    if core.state != RUNNING:
        return 0
    capacity = min(capacity, core.frames)
    count = 0
    for peer in range(core.workers):
        stream = stream_of(core, peer)
        if stream.live > 0:
            probe_silence(core, peer, now_ns)
        if stream.grant_one != NONE or stream.grant_two != NONE:
            repeat_grants(stream, now_ns)
        if must_answer(stream, now_ns) and count < capacity and has_frame(core, consumed):
            stream.acknowledge = stream.unanswered = 0
            count = emit(core, out, count, build_acknowledgement(core, peer), ACKNOWLEDGEMENT_FRAME_BYTES)
            core.acknowledgements_sent += 1
    first = int(core.turn)
    core.turn = (first + 1) % core.workers
    idle = 0
    peer = first
    while idle < core.workers and count < capacity and has_frame(core, consumed):
        before = count
        if peer != core.child:
            count = send_of_stream(core, peer, out, min(capacity, count + TURN_FRAMES), count, consumed, now_ns)
        idle = idle + 1 if count == before else 0
        peer = (peer + 1) % core.workers
    return count


@njit(internal=True)
def must_answer(stream: Any, now_ns: int) -> Any:
    """Whether an acknowledgement is to be sent now."""
    if stream.acknowledge == ACKNOWLEDGE_LATER:
        return now_ns >= stream.acknowledge_ns or stream.queue_first != NONE
    return stream.acknowledge == ACKNOWLEDGE_NOW and stream.largest_packet >= 0


@njit(internal=True)
def has_frame(core: Any, consumed: int) -> Any:
    """Whether the next frame of the ring may be written: the port has read its last posting."""
    return load_i64(core.posted, core.frame_next % core.frames) <= consumed


@njit(internal=True)
def frame_to_build(core: Any) -> Any:
    """Where the next frame of the ring is."""
    return core.pool + (core.frame_next % core.frames) * core.stride_bytes


@njit(internal=True)
def emit(core: Any, out: int, count: int, frame: int, length: int) -> int:
    """Hand the ring's next frame over for posting; returns how many have been."""
    order = transmit_at(out + count * TRANSMIT_BYTES)
    order.address = frame
    order.length = length
    order.frame = core.frame_next % core.frames
    core.frame_next += 1
    core.frames_sent += 1
    core.bytes_sent += length
    return count + 1


@njit(internal=True)
def send_of_stream(core: Any, peer: int, out: int, end: int, count: int, consumed: int, now_ns: int) -> int:
    """What one stream sends in its turn; returns how many frames have been handed over."""
    stream = stream_of(core, peer)
    while count < end and has_frame(core, consumed):
        under_way = stream.live + stream.lost_end - stream.lost_first
        if stream.next_packet - stream.oldest_packet >= MOST_PACKETS:
            break
        if stream.live >= stream.window and stream.probes == 0:
            break
        if stream.lost_first < stream.lost_end:
            stream.probes = max(stream.probes - 1, 0)
            loss = loss_of(core, peer, stream.lost_first)
            slot, fragment = int(loss.transfer), int(loss.fragment)
            stream.lost_first += 1
            core.retransmissions_sent += 1
            core.retransmitted_bytes += frame_bytes(core, slot, fragment)
        elif under_way >= MOST_PACKETS:
            break
        elif may_begin(stream):
            slot, fragment = begin_send(core, stream), 0
            send = transfer_of(core, slot)
            core.late_fragments_sent += late_fragments(core, send.length, send.eager_bytes)
        else:
            slot, fragment = next_granted(core, stream)
            if slot == NONE:
                break
        count = send_fragment(core, peer, slot, fragment, out, count, now_ns)
    return count


@njit(internal=True)
def may_begin(stream: Any) -> Any:
    """Is there a send whose envelope the peer has room for? With nothing under way one more is sent, as a question: the
    word that there is room may be lost, and the peer answers what it must refuse."""
    if stream.queue_first == NONE:
        return False
    return stream.next_message < stream.peer_low + MOST_ENVELOPES or stream.live == 0


@njit(internal=True)
def begin_send(core: Any, stream: Any) -> Any:
    """The stream's next send gets its message number; returns its place."""
    slot = int(stream.queue_first)
    stream.queue_first, stream.queue_last = removed(core, slot, stream.queue_last, slot)
    send = transfer_of(core, slot)
    send.state = BEGUN
    send.message = stream.next_message
    stream.next_message += 1
    send.eager_bytes = 0
    if send.message < stream.peer_low + core.eager_messages:
        send.eager_bytes = min(send.length, eager_capacity(core))
    send.fragments = count_fragments(core, send.length, send.eager_bytes)
    send.sent = send.granted = 1
    if send.eager_bytes > 0 and send.message < stream.peer_low + EARLY_MESSAGES:
        send.granted = min(send.fragments, 1 + core.early_fragments)
    send.acknowledged = 0
    stream.begun_first, stream.begun_last = appended(core, stream.begun_first, stream.begun_last, slot)
    return slot


@njit(internal=True)
def next_granted(core: Any, stream: Any) -> Any:
    """The next fragment that may be sent, of the earliest message that has one: (place, fragment), or (NONE, 0)."""
    slot = int(stream.begun_first)
    while slot != NONE:
        send = transfer_of(core, slot)
        if send.sent < send.granted:
            fragment = int(send.sent)
            send.sent += 1
            return slot, fragment
        slot = int(send.next)
    return NONE, 0


@njit(internal=True)
def frame_bytes(core: Any, slot: int, fragment: int) -> Any:
    """The length of a fragment's frame."""
    send = transfer_of(core, slot)
    if fragment == 0:
        return ENVELOPE_END_AT + send.eager_bytes
    return DATA_AT + fragment_bytes(core, send, fragment)


@njit(internal=True)
def send_fragment(core: Any, peer: int, slot: int, fragment: int, out: int, count: int, now_ns: int) -> Any:
    """Build a fragment's frame and hand it over; returns how many have been."""
    send = transfer_of(core, slot)
    frame = frame_to_build(core)
    write_start(core, frame, MESSAGE, peer, send.message, fragment)
    store_be32(frame + PACKET_AT, enter_packet(core, peer, slot, fragment, now_ns))
    if fragment == 0:
        store_be64(frame + TAG_AT, send.tag)
        store_be64(frame + LENGTH_AT, send.length)
        store_be32(frame + AGREEMENT_AT, send.agreement)
        store_be32(frame + CALL_AT, send.call)
        copy_bytes(frame + ENVELOPE_END_AT, send.address, send.eager_bytes)
    else:
        offset = fragment_offset(core, send, fragment)
        copy_bytes(frame + DATA_AT, send.address + offset, fragment_bytes(core, send, fragment))
    length = frame_bytes(core, slot, fragment)
    write_end(core, frame, length)
    core.fragments_sent += 1
    return emit(core, out, count, frame, length)


# --- acknowledgements ---


@njit(internal=True)
def build_acknowledgement(core: Any, peer: int) -> Any:
    """What has come from a peer, and what may come; returns the frame's address."""
    stream = stream_of(core, peer)
    stream.advertised_low = stream.match_low
    frame = frame_to_build(core)
    write_start(core, frame, ACKNOWLEDGEMENT, peer, stream.largest_packet, stream.match_low)
    bits = core.seen + peer * (SEEN_PACKETS // 8)
    for word in range(SEEN_PACKETS // 64):
        seen = load_i64(bits, word)
        store_be32(frame + SEEN_AT + 8 * word, seen)
        store_be32(frame + SEEN_AT + 8 * word + 4, seen >> 32)
    write_grant(core, frame + GRANTS_AT, stream.grant_one)
    write_grant(core, frame + GRANTS_AT + GRANT_BYTES, stream.grant_two)
    write_end(core, frame, ACKNOWLEDGEMENT_FRAME_BYTES)
    return frame


@njit(internal=True)
def write_grant(core: Any, place: int, slot: int) -> None:
    """Which fragments of a matched message may come; an end of 0 for none."""
    if slot == NONE:
        store_be64(place, 0)
        return
    receive = transfer_of(core, slot)
    store_be32(place, receive.message)
    store_be32(place + 4, granted_end(core, receive))


@njit(internal=True)
def repeat_grants(stream: Any, now_ns: int) -> None:
    """Nothing has come of what was granted: the acknowledgement may be lost. Less and less often."""
    if now_ns >= stream.heard_ns + stream.regrant_ns:
        stream.heard_ns = now_ns
        stream.regrant_ns = min(2 * stream.regrant_ns, LARGEST_RTO_NS)
        stream.acknowledge = ACKNOWLEDGE_NOW


# --- messages to oneself ---


@njit(internal=True)
def pass_to_self(core: Any) -> None:
    """Sends to this rank itself: an envelope at once, the data from memory to memory when a receive fits."""
    stream = stream_of(core, core.child)
    while core.failure == 0 and stream.queue_first != NONE and stream.next_message < stream.match_low + MOST_ENVELOPES:
        slot = begin_send(core, stream)
        stream.begun_first = stream.begun_last = NONE
        send = transfer_of(core, slot)
        envelope = envelope_of(core, core.child, send.message)
        envelope.state = ARRIVED
        envelope.tag = send.tag
        envelope.length = send.length
        envelope.eager_bytes = 0
        envelope.agreement = send.agreement
        envelope.call = send.call
        envelope.transfer = slot
        match_arrived(core, core.child, NONE, 0)


# --- timers ---


@njit
def message_next_timer(address: int) -> Any:
    """When ``message_poll_transmit`` must be called at the latest, in the clock of ``now_ns``; NEVER_NS for never.

    A frame that waits for its memory or for room on the port is not in it: the caller knows when it has made room.
    """
    core = core_at(address)
    when_ns = int(NEVER_NS)
    if core.state != RUNNING:
        return when_ns
    for peer in range(core.workers):
        stream = stream_of(core, peer)
        if stream.live > 0:
            when_ns = min(when_ns, timer_ns(stream))
        if stream.grant_one != NONE or stream.grant_two != NONE:
            when_ns = min(when_ns, stream.heard_ns + stream.regrant_ns)
        if stream.acknowledge == ACKNOWLEDGE_LATER:
            when_ns = min(when_ns, stream.acknowledge_ns)
    return when_ns
