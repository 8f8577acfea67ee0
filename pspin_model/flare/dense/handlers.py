"""Flare's dense algorithms as handlers: single buffer, M buffers, tree.

Each packet's handler finds its block's place, sees whether the child has been here, adds, and, as the last of its
block, sends the result. A first packet is copied into its buffer by DMA. Duplicates are detected by one atomic on the
children's bits, before anything waits. What was lost comes again by requests (`retransmission`).
"""

from __future__ import annotations

import numpy as np

from pspin_model.flare.block_memory import begin, block_of, first_lock, note_buffers, row_of
from pspin_model.flare.combine import combine
from pspin_model.flare.dense.retransmission import answer_dense
from pspin_model.flare.records import (
    A_BUFFERS,
    A_CHILDREN,
    A_PORT,
    A_REMOTE_CYCLES,
    A_REPEATS,
    A_ROW_BYTES,
    CHILDREN_A_WORD,
    W_CAME,
    W_COUNT,
    W_DONE,
    W_FILLED,
)
from pspin_model.flare.retransmission import is_request
from pspin_model.handlers import (
    atomic_add,
    atomic_or,
    atomic_swap,
    charge,
    charge_cycles,
    cluster,
    dma,
    dma_wait,
    handler,
    helper,
    lock,
    send_packet,
    source,
    try_lock,
    unlock,
)

ENTRY_ALU, ENTRY_LOADS = 12, 4
"""Reading header and parameters and working out the place: instructions of a handler's beginning. [ours]"""


@helper
def taken_care_of(h, p, place, control, data):  # type: ignore[no-untyped-def]
    """Note that this child's packet is here; whether that is all, because it was already, or is a request."""
    # whether it is a request; whether it came before
    charge(h, alu=ENTRY_ALU, load=ENTRY_LOADS, load_use=ENTRY_LOADS, branch=2)
    if is_request(h):
        answer_dense(h, p, place, control, data)
        return True
    child = source(h)
    bit = np.int64(1) << (child % CHILDREN_A_WORD)
    before = atomic_or(h, control, W_CAME + child // CHILDREN_A_WORD, bit)
    if before & bit:
        p[A_REPEATS] += 1
        return True
    return False


@helper
def remote(h, p, where, rows):  # type: ignore[no-untyped-def]
    """Additional cost of a number of rows in another cluster's L1."""
    if cluster(h) != where:
        charge_cycles(h, p[A_REMOTE_CYCLES] * rows * (p[A_ROW_BYTES] // 4), 0)


@helper
def put(h, p, where, place, number, data):  # type: ignore[no-untyped-def]
    """Copy or add the packet into a buffer that this core alone uses now."""
    control = place.view(np.int64)
    buffer = row_of(p, place, number)[: data.size]
    charge(h, load=1, load_use=1, branch=1)
    bit = np.int64(1) << number
    if control[W_FILLED] & bit:
        combine(h, p, buffer, buffer, data)
        remote(h, p, where, 2)
    else:
        note_buffers(h, p, 1, 1)
        dma_wait(h, dma(h, buffer, data))
        atomic_or(h, control, W_FILLED, bit)


@helper
def send_result(h, p, control, buffer):  # type: ignore[no-untyped-def]
    charge(h, store=1)
    control[W_DONE] = 1
    send_packet(h, buffer, block_of(h), p[A_PORT])


@handler
def add_single(h):  # type: ignore[no-untyped-def]
    """One buffer: wait for it, add, leave; the last one sends."""
    p, where, place, control, data = begin(h)
    if taken_care_of(h, p, place, control, data):
        return
    own = first_lock(h, p, where)
    lock(h, own)
    put(h, p, where, place, 0, data)
    charge(h, load=1, alu=1, store=1, branch=1)
    control[W_COUNT] += 1
    last = control[W_COUNT] == p[A_CHILDREN]
    unlock(h, own)
    if last:
        note_buffers(h, p, 0, 1)
        send_result(h, p, control, row_of(p, place, 0)[: data.size])


@handler
def add_multi(h):  # type: ignore[no-untyped-def]
    """M buffers: take the first that nobody uses, or wait for one's own; the last one merges them all."""
    p, where, place, control, data = begin(h)
    if taken_care_of(h, p, place, control, data):
        return
    own = first_lock(h, p, where)
    buffers = p[A_BUFFERS]
    taken = -1
    for number in range(buffers):
        if try_lock(h, own + number):
            taken = number
            break
    if taken < 0:
        taken = source(h) % buffers
        lock(h, own + taken)
    put(h, p, where, place, taken, data)
    unlock(h, own + taken)
    charge(h, branch=1)
    if atomic_add(h, control, W_COUNT, 1) + 1 < p[A_CHILDREN]:
        return
    first = row_of(p, place, 0)[: data.size]
    used = 1
    # buffer 0 is the first that anyone takes
    for number in range(1, buffers):
        if control[W_FILLED] & (np.int64(1) << number):
            combine(h, p, first, first, row_of(p, place, number)[: data.size])
            remote(h, p, where, 2)
            used += 1
    note_buffers(h, p, 0, used)
    send_result(h, p, control, first)


@handler
def add_tree(h):  # type: ignore[no-untyped-def]
    """Pairs by the children's numbers: the first of a pair leaves its row, the second adds the two, lower number on
    the left, and goes on for both. Rows belong to pairs of leaves; a merged pair goes on in the left one's row."""
    p, where, place, control, data = begin(h)
    if taken_care_of(h, p, place, control, data):
        return
    children = p[A_CHILDREN]
    nodes = W_CAME + (children + CHILDREN_A_WORD - 1) // CHILDREN_A_WORD
    child = source(h)
    pair = child // 2
    mine = row_of(p, place, pair)[: data.size]
    if child ^ 1 < children:
        own = first_lock(h, p, where) + pair
        lock(h, own)
        left = control[nodes + pair]
        charge(h, load=1, load_use=1, branch=1)
        if left == 0:
            note_buffers(h, p, 1, 1)
            dma_wait(h, dma(h, mine, data))
            control[nodes + pair] = 1
            unlock(h, own)
            return
        unlock(h, own)
        if child & 1:
            combine(h, p, mine, mine, data)
        else:
            combine(h, p, mine, data, mine)
        remote(h, p, where, 2)
    else:
        note_buffers(h, p, 1, 1)
        dma_wait(h, dma(h, mine, data))
    # up: at each level the node's own row and its sibling's
    width = (children + 1) // 2
    at, row_number, nodes = pair, pair, nodes + (children + 1) // 2
    while width > 1:
        charge(h, alu=4, branch=1)
        sibling = at ^ 1
        if sibling < width:
            other = atomic_swap(h, control, nodes + at // 2, row_number + 1)
            if other == 0:
                return
            mine, others = row_of(p, place, row_number)[: data.size], row_of(p, place, other - 1)[: data.size]
            if at & 1:
                combine(h, p, others, others, mine)
                row_number = other - 1
            else:
                combine(h, p, mine, mine, others)
            remote(h, p, where, 2)
            note_buffers(h, p, 0, 1)
        nodes += (width + 1) // 2
        at //= 2
        width = (width + 1) // 2
    note_buffers(h, p, 0, 1)
    send_result(h, p, control, row_of(p, place, row_number)[: data.size])
