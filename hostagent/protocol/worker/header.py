"""The bytes of a frame around its lanes, compiled: writing a contribution's, reading an answer's.

All of a job's contributions share their first bytes but for three fields, so they are copied from a template. Offsets
come from ``wire``.
"""

from __future__ import annotations

from typing import Any

from emulator.native.jit import njit
from emulator.native.memory import (
    copy_bytes,
    load_be16,
    load_u8,
    load_u16,
    load_u32,
    store_be16,
    store_be32,
    store_u8,
    swap16,
)
from hostagent.protocol.wire import (
    ECN_FIELD,
    ECN_MARKED,
    ETHERNET_BYTES,
    ETHERTYPE_IPV4,
    HEADER_AT,
    IPV4_BYTES,
    LANES_AT,
    NETSUM_PORT,
    NETSUM_VERSION,
    OFFSET,
    PROTOCOL_UDP,
)
from hostagent.protocol.worker.records import REJECT

TEMPLATE_STRIDE = 128
"""Bytes from the template of full frames to that of short ones; one template is ``LANES_AT`` bytes."""

IPV4_AT = ETHERNET_BYTES
UDP_AT = ETHERNET_BYTES + IPV4_BYTES
UDP_LENGTH_AT = UDP_AT + 4
CHECKSUM_AT = UDP_AT + 6
VERSION_AT = HEADER_AT + OFFSET["version"]
KIND_AT = HEADER_AT + OFFSET["kind"]
JOB_AT = HEADER_AT + OFFSET["job"]
CHILD_AT = HEADER_AT + OFFSET["child"]
FLAGS_AT = HEADER_AT + OFFSET["flags"]
OPERATOR_AT = HEADER_AT + OFFSET["operator"]
LANE_COUNT_AT = HEADER_AT + OFFSET["lanes"]
PEER_AT = HEADER_AT + OFFSET["peer"]
EPOCH_AT = HEADER_AT + OFFSET["epoch"]
CHUNK_AT = HEADER_AT + OFFSET["chunk"]
OPERATION_AT = HEADER_AT + OFFSET["operation"]

REJECT_LENGTH, REJECT_NOT_OURS = REJECT["length"], REJECT["not_ours"]
REJECT_CHECKSUM = REJECT["checksum"]


@njit
def folded(total: int) -> int:
    """A sum of 16-bit words with its carries added back."""
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@njit
def words_sum(address: int, words: int) -> int:
    """Sum of 32-bit words in the machine's own byte order, which one's complement sums don't mind (RFC 1071)."""
    total = 0
    for i in range(words):
        total += load_u32(address, i)
    return (total & 0xFFFFFFFF) + (total >> 32)


@njit
def udp_sum(frame: int, length: int) -> Any:
    """One's complement sum over pseudo header, UDP header with its checksum, and data; 0xFFFF when all is well."""
    words = (length - UDP_AT) // 4
    total = words_sum(frame + IPV4_AT + 12, 2) + words_sum(frame + UDP_AT, words)
    for at in range(UDP_AT + 4 * words, length):  # of a message whose data ends within a word
        total += load_u8(frame, at) << (8 * (at & 1))
    pseudo = PROTOCOL_UDP + (length - UDP_AT)
    return folded(swap16(folded(total)) + pseudo)


@njit
def write_checksum(frame: int, length: int) -> None:
    """Set the UDP checksum, which must be zero so far; 0 travels as 0xFFFF."""
    checksum = 0xFFFF - udp_sum(frame, length)
    store_be16(frame + CHECKSUM_AT, checksum if checksum else 0xFFFF)


@njit
def write_header(core: Any, frame: int, is_short: bool, flags: int, operator: int, chunk: int, operation: int) -> None:
    """Everything before the lanes but the UDP checksum, which is left zero."""
    copy_bytes(frame, core.template + (TEMPLATE_STRIDE if is_short else 0), LANES_AT)
    store_u8(frame + FLAGS_AT, 0, flags)
    store_u8(frame + OPERATOR_AT, 0, operator)
    store_be32(frame + EPOCH_AT, core.epoch)
    store_be32(frame + CHUNK_AT, chunk)
    store_be32(frame + OPERATION_AT, operation)


@njit
def check_frame(frame: int, length: int, lanes: int, needs_checksum: bool) -> int:
    """0 for a whole, unharmed frame of this protocol, full or without lanes, else why not.

    The IPv4 header's own checksum is not looked at: the fields that matter are compared here or lie under UDP's.
    """
    if length != LANES_AT + 4 * lanes and length != LANES_AT:
        return REJECT_LENGTH
    if load_be16(frame + 12) != ETHERTYPE_IPV4 or load_u8(frame + IPV4_AT, 0) != 0x45:
        return REJECT_NOT_OURS
    if load_u8(frame + IPV4_AT + 9, 0) != PROTOCOL_UDP or load_be16(frame + UDP_AT + 2) != NETSUM_PORT:
        return REJECT_NOT_OURS
    if load_be16(frame + IPV4_AT + 2) != length - ETHERNET_BYTES or load_be16(frame + UDP_LENGTH_AT) != length - UDP_AT:
        return REJECT_LENGTH
    if load_u8(frame + VERSION_AT, 0) != NETSUM_VERSION:
        return REJECT_NOT_OURS
    if 4 * load_be16(frame + LANE_COUNT_AT) != length - LANES_AT:
        return REJECT_LENGTH
    if load_u16(frame + CHECKSUM_AT, 0) == 0:
        return REJECT_CHECKSUM if needs_checksum else 0
    return 0 if udp_sum(frame, length) == 0xFFFF else REJECT_CHECKSUM


@njit
def is_marked(frame: int) -> Any:
    """Whether a queue has marked the frame (ECN): the mark is under no checksum that is looked at."""
    return load_u8(frame + IPV4_AT + 1, 0) & ECN_FIELD == ECN_MARKED


@njit
def frame_job(frame: int, length: int) -> Any:
    """The job a received frame claims to be of, to find its core; -1 when it is too short to say."""
    return load_be16(frame + JOB_AT) if length >= LANES_AT else -1
