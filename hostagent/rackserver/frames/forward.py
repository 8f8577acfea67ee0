"""Forwarding of messages from one child to another: copied to the egress port's ring with rewritten addresses.

Forwarding is stateless, so any core may process any message. A message for a child of another rack goes to that rack's
server, which forwards it to its own children only: it crosses between racks once.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_be16, load_i64, load_u16, store_be16, store_i64, store_u8, swap16
from hostagent.protocol.wire import ETHERNET_BYTES, LANES_AT, TIME_TO_LIVE
from hostagent.protocol.worker.header import CHECKSUM_AT, IPV4_AT, folded, words_sum
from hostagent.rackserver.frames.tx_slots import take_tx_slot
from hostagent.rackserver.frames.validate import PEER_AT, bit_towards
from hostagent.rackserver.hierarchy.records import TRAFFIC, TRAFFIC_BYTES, tier_at
from hostagent.rackserver.records import CHILD_BYTES, HEADER_STRIDE, MAX_CHILDREN, child_at

assert TRAFFIC.fields is not None
MESSAGE_BYTES, FRAMES = TRAFFIC.fields["message_bytes"][1], TRAFFIC.fields["frames"][1]
MACS_BYTES = 12
ADDRESSES_AT, ADDRESSES_WORDS = IPV4_AT + 12, 2
"""IPv4's two addresses, in words of 32 bits."""
TTL_AT, IPV4_CHECKSUM_AT = IPV4_AT + 8, IPV4_AT + 10


@njit
def forward(server: Any, job: Any, core: int, frame: int, length: int) -> None:
    """Forward a frame that `validate_message` has accepted."""
    bit = bit_towards(server, job, load_be16(frame + PEER_AT))
    forward_to(server, job, core, frame, length, bit)
    if job.tier and job.full >> bit & 1 == 0:
        traffic = tier_at(job.tier).traffic + core * TRAFFIC_BYTES
        store_i64(traffic + FRAMES, load_i64(traffic + FRAMES) + 1)
        store_i64(traffic + MESSAGE_BYTES, load_i64(traffic + MESSAGE_BYTES) + length - LANES_AT)


@njit
def forward_to(server: Any, job: Any, core: int, frame: int, length: int, bit: int) -> None:
    """Send a frame on to a child. It is dropped where the ring is full, as results are."""
    place = job.row * MAX_CHILDREN + bit
    cell = take_tx_slot(server, core, child_at(server.children + place * CHILD_BYTES).port, length)
    if cell == 0:
        return
    copy_bytes(cell, frame, length)
    readdress(cell, server.headers + place * HEADER_STRIDE)


@njit
def readdress(frame: int, header: int) -> None:
    """Replace the addresses by those of a prepared ``header``, and update the checksums; UDP's incrementally (RFC 1624,
    equation 3), so that a corrupted payload stays detectable. Sums are of words in host byte order."""
    checksum, before = load_u16(frame + CHECKSUM_AT, 0), folded(words_sum(frame + ADDRESSES_AT, ADDRESSES_WORDS))
    copy_bytes(frame, header, MACS_BYTES)
    copy_bytes(frame + ADDRESSES_AT, header + ADDRESSES_AT, 4 * ADDRESSES_WORDS)
    store_u8(frame + TTL_AT, 0, TIME_TO_LIVE)
    store_be16(frame + IPV4_CHECKSUM_AT, 0)
    store_be16(frame + IPV4_CHECKSUM_AT, 0xFFFF - swap16(folded(words_sum(frame + ETHERNET_BYTES, 5))))
    if checksum != 0:
        after = folded(words_sum(frame + ADDRESSES_AT, ADDRESSES_WORDS))
        updated = 0xFFFF - folded((0xFFFF - checksum) + (0xFFFF - before) + after)
        store_be16(frame + CHECKSUM_AT, swap16(updated) if updated != 0 else 0xFFFF)
