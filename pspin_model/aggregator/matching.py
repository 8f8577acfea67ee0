"""What the switch's network side does before and after the cores: matching rules and checksums.

PsPIN's matching engine compares header words of a packet with rules and finds the execution context and the message.
Here a rule is a child of a job: its addresses, port and numbers; for a frame of one child for another the engine finds
the rules of both. Checksums are the interface's work, as on network cards, but for those that pass from child to child.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emulator.native.jit import njit
from emulator.native.memory import load_i64, load_u8, load_u32, store_i64
from emulator.ports.batch import batch_at
from hostagent.protocol.services.aggregator import DROPS
from hostagent.protocol.wire import (
    ETHERNET_BYTES,
    ETHERTYPE_IPV4,
    FLAG_NO_DATA,
    FORWARDED_KINDS,
    HEADER_AT,
    IPV4_BYTES,
    LANES_AT,
    NETSUM_PORT,
    NETSUM_VERSION,
    OFFSET,
    PROTOCOL_UDP,
    Kind,
    Operator,
)
from pspin_model.aggregator.layout import TAG_BIT_SHIFT, TAG_SET_SHIFT

NOT_OURS, LENGTH, CHECKSUM = DROPS.index("not_ours"), DROPS.index("length"), DROPS.index("checksum")
JOB, CHILD, KIND, PEER = DROPS.index("job"), DROPS.index("child"), DROPS.index("kind"), DROPS.index("peer")

RULE = np.dtype(
    [(name, "<i8") for name in ("job", "child", "bit", "row", "port", "mac", "ip", "zero_allowed")]
    + [(name, "<i8") for name in ("first_slot", "window", "short_allowed", "used", "elsewhere")]
)
"""One child of one job. elsewhere: it is behind the parent of this leaf of a tree."""
RULE_WORDS = RULE.itemsize // 8
R_JOB, R_CHILD, R_BIT, R_ROW, R_PORT, R_MAC, R_IP, R_ZERO, R_FIRST, R_WINDOW, R_SHORT, R_USED, R_ELSEWHERE = range(
    RULE_WORDS
)

IP_AT, UDP_AT = ETHERNET_BYTES, ETHERNET_BYTES + IPV4_BYTES
UDP_CHECKSUM_AT = UDP_AT + 6
VERSION_AT, KIND_AT, JOB_AT, CHILD_AT, FLAGS_AT, OPERATOR_AT, LANE_COUNT_AT, PEER_AT, CHUNK_AT = (
    HEADER_AT + OFFSET[name]
    for name in ("version", "kind", "job", "child", "flags", "operator", "lanes", "peer", "chunk")
)
CONTRIBUTION, WAITING = int(Kind.CONTRIBUTION), int(Kind.WAITING)
SUM, MAX, SERVED, ANNOUNCE = map(int, (Operator.SUM, Operator.MAX, Operator.SERVED, Operator.ANNOUNCE))
MESSAGE, LAST_KIND = min(map(int, FORWARDED_KINDS)), max(map(int, FORWARDED_KINDS))


@njit
def be16(at: int) -> Any:
    """Two bytes, big-endian."""
    return load_u8(at) << 8 | load_u8(at + 1)


@njit
def be32(at: int) -> Any:
    """Four bytes, big-endian."""
    return be16(at) << 16 | be16(at + 2)


@njit
def ones_sum(at: int, size: int) -> Any:
    """RFC 1071's sum over an even number of bytes."""
    total = 0
    for i in range(0, size, 2):
        total += be16(at + i)
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@njit
def udp_total(at: int, size: int) -> Any:
    """Sum over pseudo header, UDP header and payload of a frame: 0xFFFF where the checksum in it is right."""
    total = ones_sum(at + IP_AT + 12, 8) + PROTOCOL_UDP + be16(at + UDP_AT + 4) + ones_sum(at + UDP_AT, size - UDP_AT)
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@njit
def look(at: int, size: int) -> Any:
    """-1 for a frame of the protocol, whole and unharmed but for its UDP checksum; else why it is dropped."""
    if size < LANES_AT or be16(at + 12) != ETHERTYPE_IPV4 or load_u8(at + IP_AT) != 0x45:
        return NOT_OURS
    if load_u8(at + IP_AT + 9) != PROTOCOL_UDP or be16(at + UDP_AT + 2) != NETSUM_PORT or be16(at + IP_AT + 6) & 0x3FFF:
        return NOT_OURS
    if ones_sum(at + IP_AT, IPV4_BYTES) != 0xFFFF:
        return CHECKSUM
    if be16(at + IP_AT + 2) != size - ETHERNET_BYTES or be16(at + UDP_AT + 4) != size - UDP_AT:
        return LENGTH
    no_data, operator = load_u8(at + FLAGS_AT) & FLAG_NO_DATA, load_u8(at + OPERATOR_AT)
    if load_u8(at + VERSION_AT) != NETSUM_VERSION:
        return KIND
    if MESSAGE <= load_u8(at + KIND_AT) <= LAST_KIND:
        return -1
    if load_u8(at + KIND_AT) > LAST_KIND or operator > ANNOUNCE or (no_data and operator in (MAX, ANNOUNCE)):
        return KIND
    return -1


@njit
def match(at: int, size: int, port: int, lanes: int, rules: Any, heads: Any) -> Any:
    """(-1, the packet's tag) or (why it is dropped, 0). ``heads``: first and last rule of each job, by its number."""
    why = look(at, size)
    if why >= 0:
        return why, 0
    job, child, kind = be16(at + JOB_AT), be16(at + CHILD_AT), load_u8(at + KIND_AT)
    is_answer, above = CONTRIBUTION < kind < MESSAGE, rules[max(heads[job, 1] - 1, 0)]
    is_for_parent = is_answer or (kind == CONTRIBUTION and load_u8(at + OPERATOR_AT) > MAX)
    if is_for_parent and (heads[job, 0] < 0 or above[R_ELSEWHERE] == 0):
        return KIND, 0
    if heads[job, 0] < 0:
        return JOB, 0
    for index in range(heads[job, 0], heads[job, 1]):
        rule = rules[index]
        if rule[R_CHILD] != child:
            continue
        mac = be16(at + 6) << 32 | be32(at + 8)
        source = above if is_answer else rule
        if kind >= MESSAGE and above[R_ELSEWHERE] and rule[R_PORT] != port:
            source = above  # which has checked who sends
        if source[R_PORT] != port or source[R_MAC] != mac or source[R_IP] != be32(at + IP_AT + 12):
            return CHILD, 0
        if kind >= MESSAGE:
            if size > LANES_AT + 4 * lanes:
                return LENGTH, 0
            peer = rule_of_peer(at, rules, heads)
            if peer < 0 or (source[R_ELSEWHERE] and rules[peer][R_ELSEWHERE]):
                return PEER, 0
            return -1, rule[R_ROW] | rule[R_BIT] << TAG_BIT_SHIFT | rules[peer][R_BIT] << TAG_SET_SHIFT
        if rule[R_ELSEWHERE] and not is_answer:
            return CHILD, 0
        chunk, window = be32(at + CHUNK_AT), rule[R_WINDOW]
        number = 2 * (rule[R_FIRST] + chunk % window) + chunk // window % 2
        tag = rule[R_ROW] | rule[R_BIT] << TAG_BIT_SHIFT | number << TAG_SET_SHIFT
        if kind == WAITING:
            if size > LANES_AT + 4 * lanes or rule[R_ELSEWHERE]:
                return (PEER if rule[R_ELSEWHERE] else LENGTH), 0
            return -1, tag
        count = be16(at + LANE_COUNT_AT)
        is_short = count == 0 and load_u8(at + FLAGS_AT) & FLAG_NO_DATA != 0 and rule[R_SHORT] != 0
        if size != LANES_AT + 4 * count or (count != lanes and not is_short):
            return LENGTH, 0
        if be16(at + UDP_CHECKSUM_AT) == 0:
            if source[R_ZERO] == 0:
                return CHECKSUM, 0
        elif udp_total(at, size) != 0xFFFF:
            return CHECKSUM, 0
        return -1, tag
    return CHILD, 0


@njit
def rule_of_peer(at: int, rules: Any, heads: Any) -> Any:
    """The number of the rule of the child that a frame is for; -1 if the job has none."""
    job, peer = be16(at + JOB_AT), be16(at + PEER_AT)
    for index in range(heads[job, 0], heads[job, 1]):
        if rules[index][R_CHILD] == peer:
            return index
    return -1


@njit
def match_batch(batch: int, lanes: int, rules: Any, heads: Any, drops: Any, tags: Any) -> int:
    """The tag of each frame of a batch, -1 for a counted drop; returns how many matched."""
    matched = 0
    for index in range(batch_at(batch).count):
        at = load_i64(batch_at(batch).addresses + 8 * index)
        size = load_u32(batch_at(batch).lengths + 4 * index)
        port = load_u32(batch_at(batch).ports + 4 * index)
        why, tag = match(at, size, port, lanes, rules, heads)
        if why >= 0:
            drops[why] += 1
            tags[index] = -1
        else:
            tags[index] = tag
            matched += 1
    return matched


@njit
def set_checksum(at: int, size: int) -> None:
    """Fill in the UDP checksum of a frame with a zero field."""
    value = 0xFFFF - udp_total(at, size)
    if value == 0:
        value = 0xFFFF
    word = load_i64(at + UDP_CHECKSUM_AT - 6)  # the field's bytes are the highest of this little-endian word
    store_i64(at + UDP_CHECKSUM_AT - 6, word | (value >> 8) << 48 | (value & 0xFF) << 56)
