"""Whether a frame is a complete, valid contribution of a known child of the job, in the job's epoch, or one of a child
for another.

(Another rack, which is a child as well, may also send answers to contributions, and what its children send to ours. So
may the parent of a leaf, which stands behind every worker that is elsewhere in the tree.)

A child's frames differ from one another in chunk, operation and lanes alone, as a rule. So each core keeps the head of
the last one that it accepted of each child (if no checksum had to be looked at): a frame with the same head is accepted
by one comparison of 64 bytes.
"""

from __future__ import annotations

from typing import Any

from emulator.native.arithmetic import trailing_zeros
from emulator.native.jit import njit
from emulator.native.memory import load_be16, load_be32, load_i16, load_i64, load_u8, load_u16, store_i64
from hostagent.protocol.counters import Drop
from hostagent.protocol.wire import (
    ETHERNET_BYTES,
    ETHERTYPE_IPV4,
    FLAG_NO_DATA,
    FORWARDED_KINDS,
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
    CHILD_AT,
    CHUNK_AT,
    EPOCH_AT,
    FLAGS_AT,
    IPV4_AT,
    JOB_AT,
    KIND_AT,
    LANE_COUNT_AT,
    OPERATOR_AT,
    UDP_AT,
    UDP_LENGTH_AT,
    VERSION_AT,
    folded,
    udp_sum,
    words_sum,
)
from hostagent.rackserver.hierarchy.records import tier_at
from hostagent.rackserver.records import CHILD_BYTES, HEAD_BYTES, JOB_BYTES, MAX_CHILDREN, child_at, job_at

SUM, MAX, SERVED, ANNOUNCE = 0, 1, 2, 3
"""Operators. The last two are for services only; see the README."""
CONTRIBUTION, WAITING, LAST_KIND = int(Kind.CONTRIBUTION), int(Kind.WAITING), max(map(int, Kind))
MESSAGE = min(map(int, FORWARDED_KINDS))
"""Lowest of the kinds of frames that are for another child."""
assert sorted(FORWARDED_KINDS) == list(range(MESSAGE, LAST_KIND + 1))
PEER_AT = HEADER_AT + OFFSET["peer"]
NOT_OURS, LENGTH, CHECKSUM, JOB = int(Drop.NOT_OURS), int(Drop.LENGTH), int(Drop.CHECKSUM), int(Drop.JOB)
CHILD, EPOCH, KIND, PEER = int(Drop.CHILD), int(Drop.EPOCH), int(Drop.KIND), int(Drop.PEER)
ACCEPTED = -1
LAST_WORD_AT = HEAD_BYTES - 8
"""Offset of a head's last word: two bytes before the chunk, then the frame's length and port, which are checked too."""
assert CHUNK_AT == LAST_WORD_AT + 2


@njit(forceinline=True)
def sender(server: Any, core: int, row: int, frame: int, length: int, port: int) -> Any:
    """The bit of the child, or of the other rack, that sent this frame; ``~reason`` (a `Drop`) if it has no business
    here. ``row``: see `row_of`."""
    number = load_be16(frame + CHILD_AT) if row >= 0 else MAX_CHILDREN
    head = server.heads + core * server.heads_bytes + (row * MAX_CHILDREN + number) * HEAD_BYTES
    if number < MAX_CHILDREN and is_like(frame, length, port, head):
        return number
    return validate_head(server, row, number, frame, length, port, head)


@njit
def validate_head(server: Any, row: int, number: int, frame: int, length: int, port: int, head: int) -> Any:
    """As `sender`, for a frame with a head that differs from the stored one; it may replace the stored one."""
    reason = validate(server, frame, length, port)
    if reason != ACCEPTED:
        return ~reason
    job = job_at(server.jobs + row * JOB_BYTES)
    bit = bit_of(server, job, number) if load_u8(frame + KIND_AT, 0) < MESSAGE else bit_towards(server, job, number)
    if bit == number and load_u16(frame + CHECKSUM_AT, 0) == 0:
        keep_head(frame, length, port, head)
    return bit


@njit(forceinline=True)
def last_word(frame: int, length: int, port: int) -> Any:
    """What a head has from LAST_WORD_AT on."""
    return load_i64(frame + LAST_WORD_AT) & 0xFFFF | length << 16 | port << 48


@njit(forceinline=True)
def is_like(frame: int, length: int, port: int, head: int) -> Any:
    """Whether the frame has that head."""
    differ = last_word(frame, length, port) ^ load_i64(head + LAST_WORD_AT)
    for at in range(0, LAST_WORD_AT, 8):
        differ |= load_i64(frame + at) ^ load_i64(head + at)
    return differ == 0


@njit
def keep_head(frame: int, length: int, port: int, head: int) -> None:
    """Copy the header for `is_like`."""
    for at in range(0, LAST_WORD_AT, 8):
        store_i64(head + at, load_i64(frame + at))
    store_i64(head + LAST_WORD_AT, last_word(frame, length, port))


@njit(forceinline=True)
def row_of(server: Any, frame: int, length: int) -> Any:
    """Row of the job in a frame's header; -1 if there is none."""
    return load_i16(server.job_rows, load_be16(frame + JOB_AT)) if length >= LANES_AT else -1


@njit
def bit_of(server: Any, job: Any, number: int) -> int:
    """The bit of a child in the job's bitmap, usually its number; -1 for an unknown child."""
    children = server.children + job.row * MAX_CHILDREN * CHILD_BYTES
    if number < MAX_CHILDREN and child_at(children + number * CHILD_BYTES).number == number:
        return number
    for bit in range(MAX_CHILDREN):
        if child_at(children + bit * CHILD_BYTES).number == number:
            return bit
    return -1


@njit
def validate(server: Any, frame: int, length: int, port: int) -> Any:
    """ACCEPTED, or the `Drop` reason. Cheap checks first, so that a flood of foreign frames costs little."""
    if length < LANES_AT or load_be16(frame + 12) != ETHERTYPE_IPV4 or load_u8(frame + IPV4_AT, 0) != 0x45:
        return NOT_OURS
    if load_u8(frame + IPV4_AT + 9, 0) != PROTOCOL_UDP or load_be16(frame + UDP_AT + 2) != NETSUM_PORT:
        return NOT_OURS
    if load_be16(frame + IPV4_AT + 6) & 0x3FFF:
        return NOT_OURS
    if folded(words_sum(frame + IPV4_AT, 5)) != 0xFFFF:
        return CHECKSUM
    if load_be16(frame + IPV4_AT + 2) != length - ETHERNET_BYTES or load_be16(frame + UDP_LENGTH_AT) != length - UDP_AT:
        return LENGTH
    kind = load_u8(frame + KIND_AT, 0)
    if load_u8(frame + VERSION_AT, 0) != NETSUM_VERSION or kind > LAST_KIND:
        return KIND
    row = row_of(server, frame, length)
    if row < 0:
        return KIND if CONTRIBUTION < kind < MESSAGE else JOB
    job = job_at(server.jobs + row * JOB_BYTES)
    if kind >= MESSAGE:
        return validate_message(server, job, frame, length, port)
    return validate_child(server, job, frame, length, port)


@njit
def bit_towards(server: Any, job: Any, number: int) -> Any:
    """The bit of a child of this rack, or of the rack that has the child; -1 if none has."""
    if job.tier == 0:
        return bit_of(server, job, number)
    for bit in range(MAX_CHILDREN):
        if number < MAX_CHILDREN and tier_at(job.tier).stands_for[bit] >> number & 1:
            return bit
    return -1


@njit
def is_from(server: Any, job: Any, bit: int, frame: int, port: int) -> Any:
    """Whether a frame has come by the child's port, from its addresses."""
    child = child_at(server.children + (job.row * MAX_CHILDREN + bit) * CHILD_BYTES)
    if child.port != port or child.ip != load_be32(frame + IPV4_AT + 12):
        return False
    return child.mac == (load_be16(frame + 6) << 32 | load_be32(frame + 8))


@njit
def validate_message(server: Any, job: Any, frame: int, length: int, port: int) -> Any:
    """The rest, for a frame of one child for another. Its UDP checksum is the receiver's business, as are its bytes;
    one of the two children is of this rack, or below this leaf."""
    bit, peer = (
        bit_towards(server, job, load_be16(frame + CHILD_AT)),
        bit_towards(server, job, load_be16(frame + PEER_AT)),
    )
    if bit < 0:
        return CHILD
    if not is_from(server, job, bit, frame, port):
        bit = trailing_zeros(job.elsewhere)  # the parent has checked who sends
        if job.elsewhere == 0 or not is_from(server, job, bit, frame, port):
            return CHILD
    reason = validate_passing(server, job, frame, length)
    if reason != ACCEPTED:
        return reason
    if peer < 0 or (job.full >> bit | job.full >> peer) & 1 == 0:
        return PEER
    return ACCEPTED


@njit
def validate_passing(server: Any, job: Any, frame: int, length: int) -> Any:
    """What is checked of a frame whose bytes are its receiver's business."""
    if length > LANES_AT + 4 * server.lanes:
        return LENGTH
    return ACCEPTED if load_be32(frame + EPOCH_AT) == job.epoch else EPOCH


@njit
def validate_child(server: Any, job: Any, frame: int, length: int, port: int) -> Any:
    """The rest, for a job that exists."""
    no_data = load_u8(frame + FLAGS_AT, 0) & FLAG_NO_DATA
    operator = load_u8(frame + OPERATOR_AT, 0)
    if operator > (ANNOUNCE if job.service or job.elsewhere else MAX) or (no_data and operator in (MAX, ANNOUNCE)):
        return KIND
    bit = bit_of(server, job, load_be16(frame + CHILD_AT))
    if bit < 0:
        return CHILD
    kind, is_here, sender = load_u8(frame + KIND_AT, 0), job.full >> bit & 1, bit
    if kind != CONTRIBUTION:
        if job.elsewhere:
            sender = trailing_zeros(job.elsewhere)
        elif is_here:  # only a parent and other racks may answer
            return KIND
    elif job.elsewhere and not is_here:  # a parent does not contribute
        return CHILD
    if not is_from(server, job, sender, frame, port):
        return CHILD
    if kind == WAITING and job.elsewhere:
        reason = validate_passing(server, job, frame, length)
        return PEER if reason == ACCEPTED and not is_here else reason
    lanes = load_be16(frame + LANE_COUNT_AT)
    if length != LANES_AT + 4 * lanes:
        return LENGTH
    if lanes != server.lanes and not (lanes == 0 and no_data and job.short_allowed):
        return LENGTH
    if load_u16(frame + CHECKSUM_AT, 0) == 0:
        if child_at(server.children + (job.row * MAX_CHILDREN + sender) * CHILD_BYTES).zero_checksum_allowed == 0:
            return CHECKSUM
    elif udp_sum(frame, length) != 0xFFFF:
        return CHECKSUM
    if load_be32(frame + EPOCH_AT) != job.epoch:
        return EPOCH
    return ACCEPTED
