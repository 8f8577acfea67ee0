"""The handler of a contribution: the slot rule of the protocol on one set, and the answers; in a leaf of a tree the sum
to the parent, and the parent's answers. And of a frame of one child for another, which is sent on from where it lies.

A set is in the L1 of one cluster, and its packets go to that cluster's cores only (first come, first served), so one
lock in that L1 guards it. Sums are kept in the cores' byte order and turned around as they come and go.
"""

from __future__ import annotations

import numpy as np

from hostagent.protocol.services.aggregator import MOST_CHILDREN, VERDICTS
from hostagent.protocol.wire import (
    ECN_FIELD,
    ECN_MARKED,
    ETHERNET_BYTES,
    FLAG_NO_DATA,
    FLAG_SHORT_RESULT,
    FORWARDED_KINDS,
    HEADER_AT,
    LANES_AT,
    OFFSET,
    TIME_TO_LIVE,
    Kind,
    Operator,
)
from pspin_model.aggregator.layout import (
    ANSWER_CHECKSUM,
    ASKED,
    HEADER_STRIDE_BYTES,
    J_BASE,
    J_CHILDREN,
    J_COPIES,
    J_ELSEWHERE,
    J_EPOCH,
    J_FULL,
    J_UP,
    J_WINDOW,
    J_WORDS,
    NO_DATA,
    P_BYTES,
    P_EPOCH_DROPS,
    P_FRAMES,
    P_HEADERS,
    P_JOBS,
    P_LANES,
    P_MASKS,
    P_OUT_BYTES,
    P_PLACE_BYTES,
    P_PLACES,
    P_PORTS,
    S_ABOVE,
    S_CAME,
    S_CHUNK,
    S_EPOCH,
    S_FAILED,
    S_FIRST,
    S_MARKED,
    S_OPERATION,
    S_OPERATOR,
    S_OTHER,
    S_OTHER_OPERATION,
    S_SHORT,
    S_WORDS,
    SHORT_HEADER_AT,
    TAG_BIT_SHIFT,
    TAG_SET_SHIFT,
    WORD_BYTES,
)
from pspin_model.handlers import (
    atomic_add,
    charge,
    charge_elements,
    cluster,
    clusters,
    core_in_cluster,
    handler,
    handler_memory,
    helper,
    lock,
    packet,
    packet_bytes,
    scratchpad,
    send_packet,
    tag,
    unlock,
    wait,
)

ACCEPTED, ACCEPTED_NO_DATA, COMPLETED, SERVED_AGAIN, WAITING, ERROR, OUTSIDE_WINDOW, MISMATCH, FORWARDED = range(9)
PARTIAL_AGAIN, FROM_PARENT = 9, 10
VERDICT_COUNT = len(VERDICTS)
NOTHING = -1
RESULT_KIND, WAITING_KIND, ERROR_KIND = int(Kind.RESULT), int(Kind.WAITING), int(Kind.ERROR)
SUM_KIND = int(Kind.CONTRIBUTION)
"""A sum that goes to the parent."""
MESSAGE_KIND = min(map(int, FORWARDED_KINDS))
MAXIMUM, ANNOUNCEMENT = int(Operator.MAX), int(Operator.ANNOUNCE)
KIND_AT, OPERATOR_AT, FLAGS_AT, EPOCH_AT, CHUNK_AT, OPERATION_AT, CHILD_AT = (
    HEADER_AT + OFFSET[name] for name in ("kind", "operator", "flags", "epoch", "chunk", "operation", "child")
)
CHECKSUM_LOW_AT = HEADER_AT - 1
"""Low byte of the UDP checksum."""
MACS_BYTES, ECN_AT, TTL_AT, IPV4_CHECKSUM_AT = 12, ETHERNET_BYTES + 1, ETHERNET_BYTES + 8, ETHERNET_BYTES + 10
ADDRESSES_AT, ADDRESSES_END = ETHERNET_BYTES + 12, ETHERNET_BYTES + 20
MODULUS = 1 << 32

ENTRY_ALU, ENTRY_LOADS, ENTRY_L2_LOADS = 40, 12, 5
"""Header fields put together from bytes, the set's place, the job's parameters, the child's bits. [ours]"""
RULE_ALU, RULE_LOADS, RULE_STORES = 16, 6, 6
"""The slot rule's comparisons and what it writes. [ours]"""
TURN_ALU = 8
"""Turning a 32-bit word around: RV32IM has no instruction for it. [ours]"""
HEADER_WORDS = 17
"""Words of a header of 66 bytes, copied from L2 to L1."""
FORWARD_ALU, FORWARD_LOADS, FORWARD_STORES, ADDRESS_WORDS = 90, 24, 16, 9
"""Addresses, from L2, into a frame whose halfwords are not aligned, and two checksums: of ten halfwords, and of the
difference of four. [ours]"""
MARK_ALU, MARK_LOADS, MARK_STORES = 10, 3, 3
"""The mark in an answer's header, and the header's checksum by its difference. [ours]"""
SHORT_ALU, SHORT_LOADS, SHORT_STORES = 6, 2, 2
"""Into the set's bitmap of those who need no lanes, two words, whether the sender of a first copy does. [ours]"""
IS_SHORT_ALU, IS_SHORT_LOADS = 4, 1
"""A child's bit of that bitmap, before a result. [ours]"""


@helper
def field32(h, frame, at):  # type: ignore[no-untyped-def]
    return (
        np.int64(frame[at]) << 24
        | np.int64(frame[at + 1]) << 16
        | np.int64(frame[at + 2]) << 8
        | np.int64(frame[at + 3])
    )


@helper
def put16(h, frame, at, value):  # type: ignore[no-untyped-def]
    frame[at] = value >> 8
    frame[at + 1] = value & 0xFF


@helper
def put32(h, frame, at, value):  # type: ignore[no-untyped-def]
    frame[at] = value >> 24 & 0xFF
    frame[at + 1] = value >> 16 & 0xFF
    frame[at + 2] = value >> 8 & 0xFF
    frame[at + 3] = value & 0xFF


@helper
def turned(h, word):  # type: ignore[no-untyped-def]
    return np.uint32(word >> 24 | (word >> 8 & 0xFF00) | (word << 8 & 0xFF0000) | word << 24)


@helper
def take(h, sums, frame, is_first, is_maximum):  # type: ignore[no-untyped-def]
    """Put the lanes of a frame to the sums."""
    lanes = sums.size
    data = frame[LANES_AT : LANES_AT + 4 * lanes].view(np.uint32)
    charge_elements(h, np.int32, lanes)
    charge(h, alu=TURN_ALU * lanes)
    for i in range(lanes):
        given = turned(h, data[i])
        if is_first:
            sums[i] = given
        elif not is_maximum:
            sums[i] = np.uint32(sums[i] + given)
        elif np.int32(given) > np.int32(sums[i]):
            sums[i] = given


@helper
def count(h, words, row, bit, verdict):  # type: ignore[no-untyped-def]
    atomic_add(h, words, P_FRAMES + (row * MOST_CHILDREN + bit) * VERDICT_COUNT + verdict, 1)
    atomic_add(h, words, P_BYTES + row * VERDICT_COUNT + verdict, packet_bytes(h))


@helper
def answer(h, words, row, bit, kind, frame, control, sums, came, marked):  # type: ignore[no-untyped-def]
    """Send one answer to the child of a bit, or a sum to the parent behind it: from this core's buffer, which is free
    again when the send is over. A result has no lanes where the child needs none. ``marked``: with a mark of congestion
    (RFC 1624, equation 3, for the checksum: the field grows by 1)."""
    out_bytes = words[P_OUT_BYTES]
    first = words[P_PLACES] * words[P_PLACE_BYTES] + core_in_cluster(h) * out_bytes
    at = P_HEADERS * WORD_BYTES + (row * MOST_CHILDREN + bit) * HEADER_STRIDE_BYTES
    if kind == RESULT_KIND:
        charge(h, alu=IS_SHORT_ALU, load=IS_SHORT_LOADS, load_use=IS_SHORT_LOADS, branch=1)
        if control[S_SHORT] >> bit & 1:
            at, sums = at + SHORT_HEADER_AT, sums[:0]
    out = scratchpad(h, cluster(h), np.uint8)[first : first + LANES_AT + 4 * sums.size]
    header = handler_memory(h, np.uint8)[at : at + LANES_AT]
    charge(h, l2_load=HEADER_WORDS, store=HEADER_WORDS, alu=ENTRY_ALU)
    out[:LANES_AT] = header
    out[KIND_AT] = kind
    out[OPERATOR_AT] = frame[OPERATOR_AT]
    out[CHUNK_AT : CHUNK_AT + 8] = frame[CHUNK_AT : CHUNK_AT + 8]
    if kind == SUM_KIND:
        out[CHILD_AT : CHILD_AT + 2] = frame[CHILD_AT : CHILD_AT + 2]
    if marked != 0:
        charge(h, alu=MARK_ALU, load=MARK_LOADS, store=MARK_STORES)
        total = 0x10000 - (np.int64(out[IPV4_CHECKSUM_AT]) << 8 | np.int64(out[IPV4_CHECKSUM_AT + 1]))
        out[ECN_AT] = ECN_MARKED
        put16(h, out, IPV4_CHECKSUM_AT, 0xFFFF - ((total & 0xFFFF) + (total >> 16)))
    if kind in (RESULT_KIND, SUM_KIND):
        if control[S_ABOVE] == NO_DATA and sums.size != 0:
            out[FLAGS_AT] = FLAG_NO_DATA
        lanes = out[LANES_AT:].view(np.uint32)
        charge(h, alu=TURN_ALU * sums.size, load=sums.size, store=sums.size)
        for i in range(sums.size):
            lanes[i] = turned(h, sums[i])
    else:
        charge(h, store=sums.size)
        out[LANES_AT:] = 0
        if kind == WAITING_KIND:
            put32(h, out, LANES_AT, came >> 32)
            put32(h, out, LANES_AT + 4, came)
        else:
            put32(h, out, LANES_AT, control[S_OPERATION])
            put32(h, out, LANES_AT + 4, control[S_OTHER_OPERATION])
            put32(h, out, LANES_AT + 8, control[S_FIRST])
            put32(h, out, LANES_AT + 12, control[S_OTHER])
    # the header's template has 1 in the checksum's field where the interface is to compute it
    checksum = np.int64(out[CHECKSUM_LOW_AT]) * ANSWER_CHECKSUM
    out[CHECKSUM_LOW_AT] = 0
    wait(h, send_packet(h, out, checksum, words[P_PORTS + row * MOST_CHILDREN + bit]))


@helper
def halfwords(h, frame, first, end):  # type: ignore[no-untyped-def]
    """One's complement sum of big-endian 16-bit words."""
    total = np.int64(0)
    for at in range(first, end, 2):
        total += np.int64(frame[at]) << 8 | np.int64(frame[at + 1])
    total = (total & 0xFFFF) + (total >> 16)
    return (total & 0xFFFF) + (total >> 16)


@helper
def forward(h, words, row, bit, peer, frame):  # type: ignore[no-untyped-def]
    """Send a frame on to the child of the bit ``peer``. A UDP checksum is updated as in RFC 1624, equation 3: damage
    stays visible."""
    at = P_HEADERS * WORD_BYTES + (row * MOST_CHILDREN + peer) * HEADER_STRIDE_BYTES
    header = handler_memory(h, np.uint8)[at : at + LANES_AT]
    charge(h, l2_load=ADDRESS_WORDS, alu=FORWARD_ALU, load=FORWARD_LOADS, store=FORWARD_STORES)
    checksum = halfwords(h, frame, CHECKSUM_LOW_AT - 1, CHECKSUM_LOW_AT + 1)
    before = halfwords(h, frame, ADDRESSES_AT, ADDRESSES_END)
    frame[:MACS_BYTES] = header[:MACS_BYTES]
    frame[ADDRESSES_AT:ADDRESSES_END] = header[ADDRESSES_AT:ADDRESSES_END]
    frame[TTL_AT] = TIME_TO_LIVE
    put16(h, frame, IPV4_CHECKSUM_AT, 0)
    put16(h, frame, IPV4_CHECKSUM_AT, 0xFFFF - halfwords(h, frame, ETHERNET_BYTES, ADDRESSES_END))
    if checksum != 0:
        total = (0xFFFF - checksum) + (0xFFFF - before) + halfwords(h, frame, ADDRESSES_AT, ADDRESSES_END)
        total = (total & 0xFFFF) + (total >> 16)
        updated = 0xFFFF - ((total & 0xFFFF) + (total >> 16))
        put16(h, frame, CHECKSUM_LOW_AT - 1, updated if updated != 0 else 0xFFFF)
    count(h, words, row, bit, FORWARDED)
    wait(h, send_packet(h, frame, 0, words[P_PORTS + row * MOST_CHILDREN + peer]))


@helper
def is_marked(h, frame):  # type: ignore[no-untyped-def]
    """1 for a frame that a queue has marked (ECN), else 0."""
    charge(h, alu=2, load=1, load_use=1)
    return np.int64(frame[ECN_AT] & ECN_FIELD == ECN_MARKED)


@helper
def accepts(h, control, job, chunk):  # type: ignore[no-untyped-def]
    """2: restarts the set; 1: the set's own chunk; 0: neither."""
    if control[S_EPOCH] != job[J_EPOCH]:
        return 2 if (chunk - job[J_BASE]) % MODULUS < 2 * job[J_WINDOW] else 0
    if control[S_CHUNK] == chunk:
        return 1
    follows = chunk == (control[S_CHUNK] + 2 * job[J_WINDOW]) % MODULUS
    is_over = control[S_CAME] == job[J_FULL] and control[S_FAILED] == 0 and control[S_ABOVE] != ASKED
    return 2 if follows and is_over else 0


@helper
def classify(h, control, sums, job, frame, mine):  # type: ignore[no-untyped-def]
    """The slot rule for a contribution that sets the bits ``mine``. Returns (verdict, kind of the answer or NOTHING,
    whether it goes to all)."""
    chunk, operation = field32(h, frame, CHUNK_AT), field32(h, frame, OPERATION_AT)
    charge(h, alu=RULE_ALU, load=RULE_LOADS, load_use=RULE_LOADS, store=RULE_STORES, branch=6)
    place = accepts(h, control, job, chunk)
    if place == 0:
        return OUTSIDE_WINDOW, NOTHING, False
    child = np.int64(frame[CHILD_AT]) << 8 | np.int64(frame[CHILD_AT + 1])
    operator = np.int64(frame[OPERATOR_AT])
    if place == 2:
        control[S_EPOCH], control[S_CHUNK], control[S_CAME], control[S_FAILED] = job[J_EPOCH], chunk, 0, 0
        control[S_ABOVE], control[S_MARKED], control[S_SHORT] = 0, 0, 0
        control[S_OPERATOR], control[S_OPERATION], control[S_FIRST] = operator, operation, child
    if control[S_FAILED] != 0:
        return ERROR, ERROR_KIND, False
    if control[S_OPERATION] != operation or control[S_OPERATOR] != operator:
        control[S_FAILED], control[S_OTHER_OPERATION], control[S_OTHER] = 1, operation, child
        return MISMATCH, ERROR_KIND, True
    if control[S_CAME] & mine:
        if control[S_ABOVE] == ASKED:
            return PARTIAL_AGAIN, SUM_KIND, False
        if control[S_CAME] == job[J_FULL]:
            return SERVED_AGAIN, RESULT_KIND, False
        return WAITING, WAITING_KIND, False
    no_data = frame[FLAGS_AT] & FLAG_NO_DATA
    is_first = control[S_CAME] == 0
    if no_data == 0:
        take(h, sums, frame, is_first, operator in (MAXIMUM, ANNOUNCEMENT))
    elif is_first:
        charge(h, store=sums.size)
        sums[:] = 0
    control[S_CAME] |= mine
    control[S_MARKED] |= is_marked(h, frame)
    charge(h, alu=SHORT_ALU, load=SHORT_LOADS, load_use=SHORT_LOADS, store=SHORT_STORES)
    if frame[FLAGS_AT] & FLAG_SHORT_RESULT:
        control[S_SHORT] |= mine
    verdict = ACCEPTED if no_data == 0 else ACCEPTED_NO_DATA
    if control[S_CAME] != job[J_FULL]:
        return verdict, NOTHING, False
    if job[J_UP] >= 0:
        control[S_ABOVE] = ASKED
        return verdict, SUM_KIND, False
    return verdict, RESULT_KIND, True


@helper
def take_answer(h, control, sums, job, frame):  # type: ignore[no-untyped-def]
    """The parent's result or error, as `classify`."""
    chunk, operation = field32(h, frame, CHUNK_AT), field32(h, frame, OPERATION_AT)
    charge(h, alu=RULE_ALU, load=RULE_LOADS, load_use=RULE_LOADS, store=RULE_STORES, branch=6)
    no_data = frame[FLAGS_AT] & FLAG_NO_DATA
    if control[S_EPOCH] != job[J_EPOCH] or control[S_CHUNK] != chunk:
        return OUTSIDE_WINDOW, NOTHING, False
    if control[S_ABOVE] != ASKED or control[S_FAILED] != 0:
        return OUTSIDE_WINDOW, NOTHING, False
    if frame[KIND_AT] == RESULT_KIND:
        if control[S_OPERATION] != operation or control[S_OPERATOR] != frame[OPERATOR_AT]:
            return OUTSIDE_WINDOW, NOTHING, False
        if no_data == 0:
            take(h, sums, frame, True, False)
            control[S_ABOVE] = 0
        else:
            charge(h, store=sums.size)
            sums[:] = 0
            control[S_ABOVE] = NO_DATA
        return FROM_PARENT, RESULT_KIND, True
    if no_data != 0:
        return OUTSIDE_WINDOW, NOTHING, False
    control[S_ABOVE], control[S_FAILED] = 0, 1
    control[S_OPERATION] = field32(h, frame, LANES_AT)
    control[S_OTHER_OPERATION] = field32(h, frame, LANES_AT + 4)
    control[S_FIRST] = field32(h, frame, LANES_AT + 8)
    control[S_OTHER] = field32(h, frame, LANES_AT + 12)
    return FROM_PARENT, ERROR_KIND, True


@handler(code_bytes=3392)
def contribute(h):  # type: ignore[no-untyped-def]
    """A frame that the matching rules know, of a child or of a leaf's parent: a contribution, the parent's answer,
    or a frame for another child."""
    words = handler_memory(h, np.int64)
    found = tag(h)
    row, bit, number = found & 0xFF, found >> TAG_BIT_SHIFT & 0xFF, found >> TAG_SET_SHIFT
    job = words[P_JOBS + row * J_WORDS : P_JOBS + (row + 1) * J_WORDS]
    frame = packet(h, np.uint8)
    charge(h, alu=ENTRY_ALU, load=ENTRY_LOADS, load_use=ENTRY_LOADS, l2_load=ENTRY_L2_LOADS, branch=4)
    if field32(h, frame, EPOCH_AT) != job[J_EPOCH]:
        atomic_add(h, words, P_EPOCH_DROPS, 1)
        return
    if frame[KIND_AT] >= MESSAGE_KIND:
        forward(h, words, row, bit, number, frame)
        return
    if frame[KIND_AT] == WAITING_KIND:
        forward(h, words, row, bit, bit, frame)
        return
    size = words[P_PLACE_BYTES]
    first = number // clusters(h) * size
    place = scratchpad(h, number % clusters(h), np.uint8)[first : first + size]
    control = place.view(np.int64)
    sums = place[S_WORDS * WORD_BYTES : S_WORDS * WORD_BYTES + 4 * words[P_LANES]].view(np.uint32)
    mine = words[P_MASKS + row * MOST_CHILDREN + bit]
    lock(h, number)
    if frame[KIND_AT] == SUM_KIND:
        verdict, kind, to_all = classify(h, control, sums, job, frame, mine)
    else:
        verdict, kind, to_all = take_answer(h, control, sums, job, frame)
    came, marked = control[S_CAME] | job[J_ELSEWHERE], control[S_MARKED]
    unlock(h, number)
    count(h, words, row, bit, verdict)
    if kind == NOTHING:
        return
    if kind == SUM_KIND:
        if verdict != PARTIAL_AGAIN:
            count(h, words, row, bit, COMPLETED)
        else:
            marked = is_marked(h, frame)
        answer(h, words, row, job[J_UP], kind, frame, control, sums, came, marked)
        return
    if not to_all:
        answer(h, words, row, bit, kind, frame, control, sums, came, is_marked(h, frame))
        return
    if kind == RESULT_KIND and verdict != FROM_PARENT:
        count(h, words, row, bit, COMPLETED)
    else:
        marked = is_marked(h, frame)
    # nobody can restart the set before all children have this answer
    for other in range(job[J_CHILDREN]):
        if job[J_COPIES] >> other & 1:
            answer(h, words, row, other, kind, frame, control, sums, came, marked)
