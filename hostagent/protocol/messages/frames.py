"""Encoding and validation of messages and acknowledgements, compiled.

A MESSAGE frame has a packet number before its data, in fragment 0 also an envelope. An ACKNOWLEDGEMENT has a
bitmap of the latest packets received and the fragments that are granted; its length is fixed.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import copy_bytes, load_be16, load_be32, load_u8, store_be16, store_be32, store_u8
from hostagent.protocol.messages.records import REJECT, SEEN_PACKETS
from hostagent.protocol.wire import (
    ETHERNET_BYTES,
    ETHERTYPE_IPV4,
    HEADER_AT,
    LANES_AT,
    NETSUM_PORT,
    NETSUM_VERSION,
    OFFSET,
    PROTOCOL_UDP,
    Kind,
)
from hostagent.protocol.worker.header import (
    CHECKSUM_AT,
    CHUNK_AT,
    EPOCH_AT,
    FLAGS_AT,
    IPV4_AT,
    KIND_AT,
    LANE_COUNT_AT,
    OPERATION_AT,
    UDP_AT,
    UDP_LENGTH_AT,
    VERSION_AT,
    folded,
    udp_sum,
    write_checksum,
)

MESSAGE, ACKNOWLEDGEMENT = int(Kind.MESSAGE), int(Kind.ACKNOWLEDGEMENT)
PEER_AT = HEADER_AT + OFFSET["peer"]

PACKET_AT = LANES_AT
PACKET_NUMBER_BYTES = 4
DATA_AT = PACKET_AT + PACKET_NUMBER_BYTES
"""Offset of the data in every fragment but the first."""

TAG_AT = DATA_AT
LENGTH_AT = TAG_AT + 8
AGREEMENT_AT = LENGTH_AT + 8
CALL_AT = AGREEMENT_AT + 4
ENVELOPE_END_AT = CALL_AT + 4
"""Offset of the data in fragment 0, which has the envelope before it."""

SEEN_AT = LANES_AT
GRANTS = 2
GRANTS_AT = SEEN_AT + SEEN_PACKETS // 8
GRANT_BYTES = 8
ACKNOWLEDGEMENT_FRAME_BYTES = GRANTS_AT + GRANTS * GRANT_BYTES

LEAST_PAYLOAD_BYTES = 64
"""Smallest payload of a job's frames, so that acknowledgements and envelopes fit: 16 lanes."""

WRAP = 1 << 32
IPV4_LENGTH_AT, IPV4_CHECKSUM_AT = IPV4_AT + 2, IPV4_AT + 10

REJECT_LENGTH, REJECT_NOT_OURS = REJECT["length"], REJECT["not_ours"]
REJECT_CHECKSUM = REJECT["checksum"]


@njit(internal=True)
def expanded(number: int, near: int) -> int:
    """Expand a number of which the low 32 bits were received: the nearest to ``near``, which is known."""
    return near + ((number - near + WRAP // 2) & (WRAP - 1)) - WRAP // 2


@njit(internal=True)
def load_be64(address: int) -> int:
    """The big-endian 64 bits at an address."""
    return (load_be32(address) << 32) | load_be32(address + 4)


@njit(internal=True)
def store_be64(address: int, value: int) -> None:
    """64 bits, big-endian."""
    store_be32(address, value >> 32)
    store_be32(address + 4, value)


@njit(internal=True)
def write_start(core: Any, frame: int, kind: int, peer: int, chunk: int, operation: int) -> None:
    """Write the headers without lengths and checksums."""
    copy_bytes(frame, core.template, LANES_AT)
    store_u8(frame + KIND_AT, 0, kind)
    store_be16(frame + PEER_AT, peer)
    store_be32(frame + EPOCH_AT, core.epoch)
    store_be32(frame + CHUNK_AT, chunk)
    store_be32(frame + OPERATION_AT, operation)


@njit(internal=True)
def write_end(core: Any, frame: int, length: int) -> None:
    """Write lengths and checksums of a frame whose other bytes are written."""
    ipv4_bytes = length - ETHERNET_BYTES
    store_be16(frame + IPV4_LENGTH_AT, ipv4_bytes)
    store_be16(frame + IPV4_CHECKSUM_AT, 0xFFFF - folded(core.ipv4_sum + ipv4_bytes))
    store_be16(frame + UDP_LENGTH_AT, length - UDP_AT)
    if core.checksum:
        write_checksum(frame, length)


@njit(internal=True)
def check_frame(frame: int, length: int, payload_bytes: int, needs_checksum: bool) -> int:
    """0 for a valid message or acknowledgement, else the reason (REJECT). The IPv4 checksum is not verified."""
    if length < LANES_AT or length > LANES_AT + payload_bytes:
        return REJECT_LENGTH
    if load_be16(frame + 12) != ETHERTYPE_IPV4 or load_u8(frame + IPV4_AT, 0) != 0x45:
        return REJECT_NOT_OURS
    if load_u8(frame + IPV4_AT + 9, 0) != PROTOCOL_UDP or load_be16(frame + UDP_AT + 2) != NETSUM_PORT:
        return REJECT_NOT_OURS
    if load_be16(frame + IPV4_LENGTH_AT) != length - ETHERNET_BYTES:
        return REJECT_LENGTH
    if load_be16(frame + UDP_LENGTH_AT) != length - UDP_AT:
        return REJECT_LENGTH
    if load_u8(frame + VERSION_AT, 0) != NETSUM_VERSION or load_be16(frame + FLAGS_AT) != 0:
        return REJECT_NOT_OURS
    if load_be16(frame + LANE_COUNT_AT) != 0:
        return REJECT_LENGTH
    if load_be16(frame + CHECKSUM_AT) == 0:
        return REJECT_CHECKSUM if needs_checksum else 0
    return 0 if udp_sum(frame, length) == 0xFFFF else REJECT_CHECKSUM


@njit
def is_forwarded(frame: int, length: int) -> Any:
    """Whether a received frame is one for the message core."""
    return length >= LANES_AT and load_u8(frame + KIND_AT, 0) >= MESSAGE
