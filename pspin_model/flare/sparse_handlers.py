"""Flare's sparse reduction as a handler: pairs into an array or a hash table, what finds no room into a spill buffer.

A packet is a fragment of a child's block. Its handler notes the fragment's number, takes the block's lock, stores pair
after pair, and, as the last of the last child, sends what is stored, as fragments again. A full spill buffer goes up by
itself. It does what `sparse.SparseNode` does, which is its oracle; it keeps no copies of what it sent.

Costs are declared by operation counts: each constant says of what. All are ours.
"""

from __future__ import annotations

import numpy as np

from pspin_model.flare.combine import apply
from pspin_model.flare.dense_handlers import first_lock, home, note_buffers, parameters, place_bytes
from pspin_model.flare.records import (
    A_CHILDREN,
    A_CONTROL_WORDS,
    A_OPERATOR,
    A_PORT,
    A_REMOTE_CYCLES,
    A_REPEATS,
    A_TYPE,
    BLOCK_BITS,
    WORD_BYTES,
)
from pspin_model.flare.sparse_records import (
    A_ENTRIES,
    A_FRAGMENT_WORDS,
    A_KEYS_AT,
    A_OUT_AT,
    A_OUT_BYTES,
    A_OWN_NUMBER,
    A_PER_PACKET,
    A_PROBE,
    A_SPILL_AT,
    A_SPILL_ROOM,
    A_STORAGE,
    A_TABLE_AT,
    A_VALUE_BYTES,
    ARRAY,
    FRAGMENTS_A_WORD,
    N_FLUSHES,
    N_INSERTED,
    N_MERGED,
    N_PROBES,
    N_SPILLED,
    OUT_ROWS,
    S_BEGUN,
    S_CHILDREN,
    S_COMPLETE,
    S_SENT,
    S_SPILLED,
    S_STORED,
)
from pspin_model.flare.sparse_wire import EMPTY_BYTES, HEADER, INDEX_BYTES, IP_UDP_BYTES
from pspin_model.flare.storage import first_entry
from pspin_model.handlers import (
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
    tag,
    unlock,
    wait,
)

_U16, _U32, _I64 = np.uint16, np.uint32, np.int64
AT_BLOCK, AT_CHILD, AT_PAIRS, AT_FRAGMENT, AT_FRAGMENTS = (
    IP_UDP_BYTES + int(HEADER.fields[name][1])  # type: ignore[index]
    for name in ("block", "child", "pairs", "fragment", "fragments")
)
NOT_A_FRAGMENT = 1
"""`fail`: a packet's length is not what its header says, or its number is beyond what this reduction has room for."""


@helper
def word_at(data, at):  # type: ignore[no-untyped-def]
    """16 bits, big-endian."""
    return _I64(data[at]) << 8 | _I64(data[at + 1])


@helper
def put_word(data, at, value):  # type: ignore[no-untyped-def]
    data[at] = value >> 8 & 255
    data[at + 1] = value & 255


@helper
def keys_of(p, place):  # type: ignore[no-untyped-def]
    """Bits of the array's entries, or the table's keys."""
    return place[p[A_KEYS_AT] : p[A_SPILL_AT]].view(_U32)


@helper
def send_fragment(h, p, control, row, pairs, fragments):  # type: ignore[no-untyped-def]
    """Send a row as the next fragment of its block; returns the send's handle."""
    block = tag(h) & ((_I64(1) << BLOCK_BITS) - 1)
    put_word(row, AT_BLOCK, block >> 16)
    put_word(row, AT_BLOCK + 2, block & 0xFFFF)
    row[AT_CHILD] = p[A_OWN_NUMBER]
    put_word(row, AT_PAIRS, pairs)
    put_word(row, AT_FRAGMENT, control[S_SENT])
    put_word(row, AT_FRAGMENTS, fragments)
    control[S_SENT] += 1
    # three words, two of them put together from halves
    charge(h, alu=6, load=2, load_use=1, store=4)
    size = EMPTY_BYTES + pairs * (INDEX_BYTES + p[A_VALUE_BYTES])
    return send_packet(h, row[:size], block, p[A_PORT])


@helper
def spill(h, p, place, control, index, value):  # type: ignore[no-untyped-def]
    """Put a pair into the spill buffer; a full one goes up."""
    row = place[p[A_SPILL_AT] :]
    room, size, count = p[A_SPILL_ROOM], p[A_VALUE_BYTES], control[S_SPILLED]
    at = EMPTY_BYTES + INDEX_BYTES * count
    row[at : at + INDEX_BYTES].view(_U16)[0] = index
    at = EMPTY_BYTES + INDEX_BYTES * room + count * size
    row[at : at + size] = value
    # the count and its comparison, two addresses
    charge(h, load=1, load_use=1, alu=3, store=3, branch=1)
    p[N_SPILLED] += 1
    control[S_SPILLED] = count + 1
    if count + 1 == room:
        wait(h, send_fragment(h, p, control, row, room, 0))
        control[S_SPILLED] = 0
        p[N_FLUSHES] += 1


@helper
def entry_of(h, p, keys, index):  # type: ignore[no-untyped-def]
    """Where an index is stored or may be, and whether it is there; -1 where there is no room for it."""
    if p[A_STORAGE] == ARRAY:
        bit = _U32(1) << _U32(index & 31)
        there = keys[index >> 5] & bit != 0
        # the word of bits, its address and shift; the bit is written where it is new
        charge(h, alu=4, load=1, load_use=1, branch=1)
        if not there:
            keys[index >> 5] |= bit
            charge(h, alu=1, store=1)
        return index, there
    mask = p[A_ENTRIES] - 1
    at = first_entry(index, mask)
    # multiply, shift, mask, address; the key and two comparisons
    charge(h, mul=1, alu=4, load=1, load_use=1, branch=2)
    if keys[at] != 0 and keys[at] != index + 1 and p[A_PROBE]:
        at = (at + 1) & mask
        p[N_PROBES] += 1
        charge(h, alu=2, load=1, load_use=1, branch=2)
    if keys[at] == index + 1:
        return at, True
    if keys[at] != 0:
        return _I64(-1), False
    keys[at] = index + 1
    charge(h, store=1)
    return at, False


@helper
def store_pairs(h, p, place, control, data, pairs):  # type: ignore[no-untyped-def]
    """Put a packet's pairs into storage and spill buffer, one after the other."""
    size = p[A_VALUE_BYTES]
    values_at = EMPTY_BYTES + INDEX_BYTES * pairs
    indices = data[EMPTY_BYTES:values_at].view(_U16)
    keys = keys_of(p, place)
    for number in range(pairs):
        index = _I64(indices[number])
        value = data[values_at + number * size : values_at + (number + 1) * size]
        # index and value, with pointers that move on
        charge(h, load=2, load_use=1)
        at, there = entry_of(h, p, keys, index)
        if at < 0:
            spill(h, p, place, control, index, value)
            continue
        entry = place[p[A_TABLE_AT] + at * size : p[A_TABLE_AT] + (at + 1) * size]
        if there:
            apply(p[A_TYPE], p[A_OPERATOR], entry, entry, value)
            charge(h, alu=1, load=1, load_use=1, fp=1, store=1)
            p[N_MERGED] += 1
        else:
            entry[:] = value
            control[S_STORED] += 1
            charge(h, alu=1, store=1)
            p[N_INSERTED] += 1


@helper
def next_entry(h, p, keys, at):  # type: ignore[no-untyped-def]
    """The first used entry from ``at`` on, taken out of the keys, and its index; as many as there are entries: none."""
    entries = p[A_ENTRIES]
    if p[A_STORAGE] == ARRAY:
        while at < entries:
            word = keys[at >> 5] >> _U32(at & 31)
            if word == 0:
                at = (at >> 5) + 1 << 5
                charge(h, load=1, load_use=1, alu=1, branch=1)
                continue
            while word & 1 == 0:
                word >>= _U32(1)
                at += 1
            keys[at >> 5] &= ~(_U32(1) << _U32(at & 31))
            # find the first set bit, clear it, make the index
            charge(h, alu=4, branch=1)
            return at, at
        return entries, _I64(0)
    while at < entries:
        charge(h, load=1, load_use=1, branch=1)
        key = keys[at]
        if key != 0:
            keys[at] = 0
            charge(h, alu=1, store=1)
            return at, _I64(key) - 1
        at += 1
    return entries, _I64(0)


@helper
def send_stored(h, p, where, place, control):  # type: ignore[no-untyped-def]
    """Send what storage and spill buffer hold, in fragments, the last with their number; both are empty afterwards."""
    size, per_packet, spilled = p[A_VALUE_BYTES], p[A_PER_PACKET], control[S_SPILLED]
    left = control[S_STORED] + spilled
    total = control[S_SENT] + max(1, (left + per_packet - 1) // per_packet)
    charge(h, load=3, load_use=1, alu=4, div=1, branch=1)
    out = scratchpad(h, cluster(h), np.uint8)[p[A_OUT_AT] :]
    keys, spill_row = keys_of(p, place), place[p[A_SPILL_AT] :]
    at, taken, which = _I64(0), _I64(0), _I64(0)
    before = _I64(-1)
    while True:
        pairs = min(left, per_packet)
        begin = (core_in_cluster(h) * OUT_ROWS + which) * p[A_OUT_BYTES]
        row = out[begin : begin + p[A_OUT_BYTES]]
        values_at = EMPTY_BYTES + INDEX_BYTES * pairs
        indices = row[EMPTY_BYTES:values_at].view(_U16)
        for number in range(pairs):
            to = row[values_at + number * size : values_at + (number + 1) * size]
            at, index = next_entry(h, p, keys, at)
            if at < p[A_ENTRIES]:
                begin = p[A_TABLE_AT] + at * size
                to[:] = place[begin : begin + size]
                at += 1
            else:
                begin = EMPTY_BYTES + INDEX_BYTES * taken
                index = _I64(spill_row[begin : begin + INDEX_BYTES].view(_U16)[0])
                begin = EMPTY_BYTES + INDEX_BYTES * p[A_SPILL_ROOM] + taken * size
                to[:] = spill_row[begin : begin + size]
                taken += 1
            indices[number] = index
            # the value's address, the value, and both written
            charge(h, alu=1, load=1, load_use=1, store=2)
        left -= pairs
        if cluster(h) != where:
            charge_cycles(h, 2 * p[A_REMOTE_CYCLES] * pairs, 0)
        handle = send_fragment(h, p, control, row, pairs, total if left == 0 else 0)
        if before >= 0:
            wait(h, before)
        before = handle
        which = 1 - which
        if left == 0:
            break
    wait(h, before)
    control[S_STORED] = 0
    control[S_SPILLED] = 0


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
    lock(h, own)
    if control[S_BEGUN] == 0:
        control[S_BEGUN] = 1
        note_buffers(h, p, 1, 1)
    store_pairs(h, p, place, control, data, pairs)
    if cluster(h) != where:
        charge_cycles(h, 2 * p[A_REMOTE_CYCLES] * pairs, 0)
    missing = control[S_CHILDREN + child] + fragments - 1
    control[S_CHILDREN + child] = missing
    charge(h, alu=3, load=1, load_use=1, store=1, branch=2)
    last = False
    if missing == 0:
        control[S_COMPLETE] += 1
        last = control[S_COMPLETE] == p[A_CHILDREN]
        charge(h, alu=1, load=1, load_use=1, store=1)
    unlock(h, own)
    if last:
        send_stored(h, p, where, place, control)
        note_buffers(h, p, 0, 1)
