"""Frames in flight to another rank: acknowledgement, loss detection, congestion control.

As in QUIC (RFC 9002) every transmission has a number of its own, so an acknowledgement says which one came, and every
first acknowledgement of the largest is a sample of the round trip. A fragment is in exactly one of three places: in
flight under one number, in the list of lost ones, or acknowledged. The estimator is the worker core's.

A packet is lost when a later one, sent a quarter of a round trip after it, has come. After a silence of the time-out
the oldest fragments are sent again as probes. The congestion window is that of RFC 9002 section 7 with CUBIC's factor
of 0.7 (RFC 9438).
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import load_be32
from hostagent.protocol.messages.records import (
    ACKNOWLEDGED,
    LIVE,
    LOSS_BYTES,
    LOST,
    MOST_PACKETS,
    SEEN_PACKETS,
    loss_at,
)
from hostagent.protocol.messages.transfers import finish, packet_of, stream_of, transfer_of
from hostagent.protocol.worker.round_trip import MOST_BACKOFF, take_sample, timeout_ns

FIRST_WINDOW = 16
LEAST_WINDOW = 4
PROBES = 2
SMALLEST_REORDERING_NS = 50_000
"""Reordering that does not count as loss however short the round trip: a batch of frames is handled in this time."""


@njit(internal=True)
def silence_ns(stream: Any) -> Any:
    """The time-out with its doublings. The first silent round is common under loss and does not double it."""
    return timeout_ns(stream, max(0, stream.backoff - 1))


@njit(internal=True)
def loss_of(core: Any, peer: int, number: int) -> Any:
    """An entry of the list of lost fragments."""
    return loss_at(core.losses + (peer * MOST_PACKETS + (number & (MOST_PACKETS - 1))) * LOSS_BYTES)


@njit(internal=True)
def enter_packet(core: Any, peer: int, slot: int, fragment: int, now_ns: int) -> int:
    """Record the transmission of a fragment; returns its packet number."""
    stream = stream_of(core, peer)
    number = int(stream.next_packet)
    packet = packet_of(core, peer, number)
    packet.sent_ns = now_ns
    packet.transfer = slot
    packet.fragment = fragment
    packet.state = LIVE
    stream.next_packet += 1
    stream.live += 1
    stream.progress_ns = now_ns
    return number


@njit(internal=True)
def advance_oldest(core: Any, peer: int) -> None:
    """Move ``oldest_packet`` past packets that are no longer in flight."""
    stream = stream_of(core, peer)
    while stream.oldest_packet < stream.next_packet and packet_of(core, peer, stream.oldest_packet).state != LIVE:
        stream.oldest_packet += 1


@njit(internal=True)
def send_again(core: Any, peer: int, number: int) -> None:
    """Queue a packet's fragment for retransmission, whether it was lost or not."""
    stream, packet = stream_of(core, peer), packet_of(core, peer, number)
    packet.state = LOST
    stream.live -= 1
    loss = loss_of(core, peer, stream.lost_end)
    loss.transfer = packet.transfer
    loss.fragment = packet.fragment
    stream.lost_end += 1


@njit(internal=True)
def lose(core: Any, peer: int, number: int) -> None:
    """Declare a packet lost, and reduce the congestion window once for each round trip."""
    stream = stream_of(core, peer)
    send_again(core, peer, number)
    if number >= stream.recovery:
        stream.threshold = max(stream.window * 7 // 10, LEAST_WINDOW)
        stream.window = stream.threshold
        stream.recovery = stream.next_packet


@njit(internal=True)
def take_acknowledged(core: Any, peer: int, largest: int, seen: int, now_ns: int) -> None:
    """The peer has ``largest`` and, before it, those packets whose bits are set at ``seen``: big-endian words of
    32 bits, a packet's by its number modulo SEEN_PACKETS."""
    stream = stream_of(core, peer)
    newest = -1
    first = max(stream.oldest_packet, largest - SEEN_PACKETS + 1)
    for number in range(first, largest + 1):
        place = number & (SEEN_PACKETS - 1)
        if (load_be32(seen + 4 * (place // 32)) >> (place & 31)) & 1 == 0:
            continue
        packet = packet_of(core, peer, number)
        if packet.state == LIVE:
            packet.state = ACKNOWLEDGED
            stream.live -= 1
            newest = number
            acknowledge_fragment(core, packet.transfer)
            grow_window(stream)
        elif packet.state == LOST:
            packet.state = ACKNOWLEDGED
            core.spurious_retransmissions += 1
    if newest < 0:
        return
    stream.backoff = 0
    stream.progress_ns = now_ns
    sent_ns = int(packet_of(core, peer, newest).sent_ns)
    if newest == largest:
        take_sample(stream, now_ns - sent_ns, now_ns)
    lose_overtaken(core, peer, newest, sent_ns)
    advance_oldest(core, peer)


@njit(internal=True)
def acknowledge_fragment(core: Any, slot: int) -> None:
    """One more fragment of a send is acknowledged; the last one completes the send."""
    transfer = transfer_of(core, slot)
    transfer.acknowledged += 1
    if transfer.acknowledged == transfer.fragments:
        finish_send(core, slot)


@njit(internal=True)
def finish_send(core: Any, slot: int) -> None:
    """Remove a send whose fragments are all acknowledged from the list of those in progress, and complete it."""
    transfer = transfer_of(core, slot)
    stream = stream_of(core, transfer.peer)
    before, at = (-1), int(stream.begun_first)
    while at != slot:
        before, at = at, int(transfer_of(core, at).next)
    after = int(transfer.next)
    if before < 0:
        stream.begun_first = after
    else:
        transfer_of(core, before).next = after
    if after < 0:
        stream.begun_last = before
    finish(core, slot, 0)


@njit(internal=True)
def grow_window(stream: Any) -> None:
    """Slow start or congestion avoidance, for one more acknowledged packet."""
    if stream.window < stream.threshold:
        stream.window += 1
    else:
        stream.window_credit += 1
        if stream.window_credit >= stream.window:
            stream.window_credit = 0
            stream.window += 1
    stream.window = min(stream.window, MOST_PACKETS)


@njit(internal=True)
def lose_overtaken(core: Any, peer: int, newest: int, sent_ns: int) -> None:
    """Declare lost what was sent clearly before ``newest``, which is acknowledged."""
    stream = stream_of(core, peer)
    edge_ns = sent_ns - max(stream.smoothed_rtt_ns // 4, SMALLEST_REORDERING_NS)
    for number in range(stream.oldest_packet, newest):
        packet = packet_of(core, peer, number)
        if packet.sent_ns >= edge_ns:
            break
        if packet.state == LIVE:
            lose(core, peer, number)
            core.retransmissions_by_overtaking += 1


@njit(internal=True)
def timer_ns(stream: Any) -> Any:
    """When the retransmission time-out of a stream with packets in flight expires."""
    return stream.progress_ns + silence_ns(stream)


@njit(internal=True)
def probe_silence(core: Any, peer: int, now_ns: int) -> None:
    """After the time-out send the oldest fragments in flight again as probes, whatever the window: their
    acknowledgement shows which other packets are lost."""
    stream = stream_of(core, peer)
    if stream.live == 0 or timer_ns(stream) > now_ns:
        return
    stream.probes = min(PROBES, stream.live)
    for _ in range(stream.probes):
        send_again(core, peer, stream.oldest_packet)
        core.retransmissions_by_timeout += 1
        advance_oldest(core, peer)
    stream.backoff = min(stream.backoff + 1, MOST_BACKOFF)
    stream.progress_ns = now_ns
    if stream.backoff > 1:
        stream.window = LEAST_WINDOW


@njit(internal=True)
def lose_all(core: Any, peer: int) -> None:
    """Queue everything in flight for retransmission: in a new epoch nothing of the old one arrives."""
    stream = stream_of(core, peer)
    for number in range(stream.oldest_packet, stream.next_packet):
        if packet_of(core, peer, number).state == LIVE:
            send_again(core, peer, number)
    advance_oldest(core, peer)
    stream.window = FIRST_WINDOW
    stream.recovery = stream.next_packet
    stream.backoff = 0
