"""Flare's sparse reduction as a handler: pairs into an array or a hash table, what finds no room into a spill buffer.

A packet is a fragment of a child's block. Its handler notes the fragment's number, takes one of the block's units,
stores pair after pair there, and, as the last of the last child, merges the units and sends what is stored, as
fragments again. A full spill buffer goes up by itself. With one unit it does what `sparse.SparseNode` does, which is
its oracle. It keeps what it sent if `A_KEPT` says so; requests for lost packets are for `retransmission`.

Costs are declared by operation counts: each constant says of what. All are ours.
"""

from __future__ import annotations

import numpy as np

from pspin_model.flare.block_memory import block_of, first_lock, home, note_buffers, parameters, place_bytes
from pspin_model.flare.records import (
    A_BUFFERS,
    A_CHILDREN,
    A_CONTROL_WORDS,
    A_MORE_WORDS,
    A_PORT,
    A_REMOTE_CYCLES,
    A_REPEATS,
    WORD_BYTES,
)
from pspin_model.flare.retransmission import AT_FRAGMENT, AT_FRAGMENTS, AT_PAIRS, is_request, word_at
from pspin_model.flare.sparse.records import (
    A_ENTRIES,
    A_FRAGMENT_WORDS,
    A_KEPT,
    A_OUT_AT,
    A_OUT_BYTES,
    A_PER_PACKET,
    A_SPILL_AT,
    A_SPILL_ROOM,
    A_TABLE_AT,
    A_VALUE_BYTES,
    FRAGMENTS_A_WORD,
    OUT_ROWS,
    S_CHILDREN,
    S_COMPLETE,
    S_DONE,
    S_SENT,
    U_BEGUN,
    U_SPILLED,
    U_STORED,
)
from pspin_model.flare.sparse.retransmission import answer_sparse
from pspin_model.flare.sparse.units import (
    NOT_A_FRAGMENT,
    copy_bytes,
    kept_row,
    keys_of,
    merge_units,
    next_entry,
    put_header,
    store_pairs,
    unit_of,
    words_of,
)
from pspin_model.flare.sparse.wire import EMPTY_BYTES, INDEX_BYTES
from pspin_model.handlers import (
    atomic_add,
    atomic_or,
    charge,
    charge_cycles,
    cluster,
    core_in_cluster,
    fail,
    handler,
    helper,
    lock,
    packet,
    scratchpad,
    send_packet,
    source,
    try_lock,
    unlock,
    wait,
)

_U16, _I64 = np.uint16, np.int64


@helper
def send_stored(h, p, where, place, control):  # type: ignore[no-untyped-def]
    """Send what unit 0 holds, in fragments, the last with their number; it is empty afterwards."""
    unit = unit_of(p, place, 0)
    words = words_of(unit)
    size, per_packet, spilled = p[A_VALUE_BYTES], p[A_PER_PACKET], words[U_SPILLED]
    left = words[U_STORED] + spilled
    sent = control[S_SENT]
    total = sent + max(1, (left + per_packet - 1) // per_packet)
    charge(h, load=3, load_use=1, alu=4, div=1, branch=1)
    out = scratchpad(h, cluster(h), np.uint8)[p[A_OUT_AT] :]
    keys, spill_row = keys_of(p, unit), unit[p[A_SPILL_AT] :]
    at, taken, which = _I64(0), _I64(0), _I64(0)
    before = _I64(-1)
    while sent < total:
        pairs = min(left, per_packet)
        begin = (core_in_cluster(h) * OUT_ROWS + which) * p[A_OUT_BYTES]
        row = out[begin : begin + p[A_OUT_BYTES]]
        if p[A_KEPT]:
            row = kept_row(h, p, place, sent)
        values_at = EMPTY_BYTES + INDEX_BYTES * pairs
        indices = row[EMPTY_BYTES:values_at].view(_U16)
        for number in range(pairs):
            to = row[values_at + number * size : values_at + (number + 1) * size]
            at, index = next_entry(h, p, keys, at)
            if at < p[A_ENTRIES]:
                begin = p[A_TABLE_AT] + at * size
                copy_bytes(to, unit[begin : begin + size])
                at += 1
            else:
                begin = EMPTY_BYTES + INDEX_BYTES * taken
                index = _I64(spill_row[begin : begin + INDEX_BYTES].view(_U16)[0])
                begin = EMPTY_BYTES + INDEX_BYTES * p[A_SPILL_ROOM] + taken * size
                copy_bytes(to, spill_row[begin : begin + size])
                taken += 1
            indices[number] = index
            # the value's address, the value, and both written
            charge(h, alu=1, load=1 + p[A_MORE_WORDS], load_use=1, store=2 + p[A_MORE_WORDS])
        left -= pairs
        if cluster(h) != where:
            charge_cycles(h, 2 * p[A_REMOTE_CYCLES] * pairs, 0)
        length = put_header(h, p, row, pairs, sent, total if left == 0 else 0)
        handle = send_packet(h, row[:length], block_of(h), p[A_PORT])
        if before >= 0:
            wait(h, before)
        before = handle
        which = 1 - which
        sent += 1
    wait(h, before)
    words[U_STORED] = 0
    words[U_SPILLED] = 0
    control[S_SENT] = total
    control[S_DONE] = 1
    charge(h, store=2)


@helper
def take_unit(h, p, own, child):  # type: ignore[no-untyped-def]
    """A unit's lock: the first that is free, or the child's own when it gets free."""
    units = p[A_BUFFERS]
    if units > 1:
        for number in range(units):
            if try_lock(h, own + number):
                return number
    taken = child % units
    lock(h, own + taken)
    return taken


@handler
def add_sparse(h):  # type: ignore[no-untyped-def]
    """Store a fragment's pairs; the last fragment of the last child sends the block."""
    p = parameters(h)
    where = home(h, p)
    place = place_bytes(h, p, where)
    control = place[: p[A_CONTROL_WORDS] * WORD_BYTES].view(_I64)
    data = packet(h, np.uint8)
    # parameters, the place, the header's fields from big-endian halves
    charge(h, alu=18, load=9, load_use=5, branch=3)
    if is_request(h):
        answer_sparse(h, p, place, control, data)
        return
    fragment, fragments, pairs = word_at(data, AT_FRAGMENT), word_at(data, AT_FRAGMENTS), word_at(data, AT_PAIRS)
    length = EMPTY_BYTES + pairs * (INDEX_BYTES + p[A_VALUE_BYTES])
    if length != data.size or max(fragment + 1, fragments) > p[A_FRAGMENT_WORDS] * FRAGMENTS_A_WORD:
        fail(h, NOT_A_FRAGMENT)
        return
    child = source(h)
    bit = _I64(1) << (fragment % FRAGMENTS_A_WORD)
    came = S_CHILDREN + p[A_CHILDREN] + child * p[A_FRAGMENT_WORDS] + fragment // FRAGMENTS_A_WORD
    if atomic_or(h, control, came, bit) & bit:
        p[A_REPEATS] += 1
        return
    own = first_lock(h, p, where)
    taken = take_unit(h, p, own, child)
    unit = unit_of(p, place, taken)
    words = words_of(unit)
    if words[U_BEGUN] == 0:
        words[U_BEGUN] = 1
        note_buffers(h, p, 1, 1)
    store_pairs(h, p, place, unit, control, data, pairs)
    if cluster(h) != where:
        charge_cycles(h, 2 * p[A_REMOTE_CYCLES] * pairs, 0)
    unlock(h, own + taken)
    charge(h, alu=3, branch=2)
    if atomic_add(h, control, S_CHILDREN + child, fragments - 1) + fragments - 1 != 0:
        return
    if atomic_add(h, control, S_COMPLETE, 1) + 1 < p[A_CHILDREN]:
        return
    used = merge_units(h, p, where, place, control)
    send_stored(h, p, where, place, control)
    note_buffers(h, p, 0, used)
