"""A sparse block's units as handlers work on them: storing pairs, spilling what finds no room, merging.

Costs are declared by operation counts: each constant says of what. All are ours.
"""

from __future__ import annotations

import numpy as np

from emulator.native.jit import njit
from pspin_model.flare.block_memory import block_of
from pspin_model.flare.combine import apply, combine
from pspin_model.flare.records import (
    A_BUFFERS,
    A_MORE_WORDS,
    A_OPERATION,
    A_OPERATOR,
    A_OWN_NUMBER,
    A_PORT,
    A_REMOTE_CYCLES,
    SUM,
    WORD_BYTES,
)
from pspin_model.flare.retransmission import AT_BLOCK, AT_CHILD, AT_FRAGMENT, AT_FRAGMENTS, AT_PAIRS, put_word
from pspin_model.flare.sparse.records import (
    A_ENTRIES,
    A_KEPT,
    A_KEPT_AT,
    A_KEYS_AT,
    A_OUT_BYTES,
    A_PROBE,
    A_SPILL_AT,
    A_SPILL_ROOM,
    A_STORAGE,
    A_TABLE_AT,
    A_UNIT_BYTES,
    A_UNITS_AT,
    A_VALUE_BYTES,
    ARRAY,
    N_FLUSHES,
    N_INSERTED,
    N_MERGED,
    N_PAIRS,
    N_PROBES,
    N_SPILLED,
    S_SENT,
    U_BEGUN,
    U_SPILLED,
    U_STORED,
    UNIT_WORDS,
)
from pspin_model.flare.sparse.storage import first_entry
from pspin_model.flare.sparse.wire import EMPTY_BYTES, INDEX_BYTES
from pspin_model.handlers import (
    atomic_add,
    charge,
    charge_cycles,
    cluster,
    fail,
    helper,
    send_packet,
    wait,
)

_U16, _U32, _I64 = np.uint16, np.uint32, np.int64
NOT_A_FRAGMENT = 1
"""`fail`: a packet's length is not what its header says, or its number is beyond what this reduction has room for."""
NO_ROOM_TO_KEEP = 2
"""`fail`: a block makes more fragments than there is room to keep."""
WHOLE = 6
"""Arrays are summed whole where more than one entry in this number is used: a pair takes some 25 cycles, an entry 4."""


@njit(internal=True)
def copy_bytes(to, data):  # type: ignore[no-untyped-def]
    """Copy at no charge. An assignment to a slice takes numba three seconds more to compile."""
    for i in range(data.size):
        to[i] = data[i]


@helper
def unit_of(p, place, number):  # type: ignore[no-untyped-def]
    """One of a block's storages with its spill buffer."""
    at = p[A_UNITS_AT] + number * p[A_UNIT_BYTES]
    return place[at : at + p[A_UNIT_BYTES]]


@helper
def words_of(unit):  # type: ignore[no-untyped-def]
    return unit[: UNIT_WORDS * WORD_BYTES].view(_I64)


@helper
def keys_of(p, unit):  # type: ignore[no-untyped-def]
    """Bits of the array's entries, or the table's keys."""
    return unit[p[A_KEYS_AT] : p[A_SPILL_AT]].view(_U32)


@helper
def kept_row(h, p, place, number):  # type: ignore[no-untyped-def]
    """Where a fragment of that number is kept."""
    if number >= p[A_KEPT]:
        fail(h, NO_ROOM_TO_KEEP)
    at = p[A_KEPT_AT] + number * p[A_OUT_BYTES]
    return place[at : at + p[A_OUT_BYTES]]


@helper
def put_header(h, p, row, pairs, number, fragments):  # type: ignore[no-untyped-def]
    """Write a fragment's header into a row; returns the packet's length."""
    block = block_of(h)
    put_word(row, AT_BLOCK, block >> 16)
    put_word(row, AT_BLOCK + 2, block & 0xFFFF)
    row[AT_CHILD] = p[A_OWN_NUMBER]
    put_word(row, AT_PAIRS, pairs)
    put_word(row, AT_FRAGMENT, number)
    put_word(row, AT_FRAGMENTS, fragments)
    # three words, two of them put together from halves
    charge(h, alu=6, load=2, load_use=1, store=4)
    return EMPTY_BYTES + pairs * (INDEX_BYTES + p[A_VALUE_BYTES])


@helper
def send_spilled(h, p, place, control, row):  # type: ignore[no-untyped-def]
    """A full spill buffer goes up as the block's next fragment, from its place or, where it must be kept, from a
    copy."""
    number = atomic_add(h, control, S_SENT, 1)
    size = put_header(h, p, row, p[A_SPILL_ROOM], number, 0)
    p[N_FLUSHES] += 1
    if p[A_KEPT]:
        kept = kept_row(h, p, place, number)
        copy_bytes(kept, row[:size])
        charge(h, load=size // 4, store=size // 4)
        send_packet(h, kept[:size], block_of(h), p[A_PORT])
    else:
        wait(h, send_packet(h, row[:size], block_of(h), p[A_PORT]))


@helper
def spill(h, p, place, unit, control, index, value):  # type: ignore[no-untyped-def]
    """Put a pair into the spill buffer; a full one goes up."""
    row, words = unit[p[A_SPILL_AT] :], words_of(unit)
    room, size, count = p[A_SPILL_ROOM], p[A_VALUE_BYTES], words[U_SPILLED]
    at = EMPTY_BYTES + INDEX_BYTES * count
    row[at : at + INDEX_BYTES].view(_U16)[0] = index
    at = EMPTY_BYTES + INDEX_BYTES * room + count * size
    copy_bytes(row[at : at + size], value)
    # the count and its comparison, two addresses
    charge(h, load=1, load_use=1, alu=3, store=3 + p[A_MORE_WORDS], branch=1)
    p[N_SPILLED] += 1
    words[U_SPILLED] = count + 1
    if count + 1 == room:
        send_spilled(h, p, place, control, row)
        words[U_SPILLED] = 0


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
def store(h, p, place, unit, control, index, value):  # type: ignore[no-untyped-def]
    """Put a pair into a unit."""
    at, there = entry_of(h, p, keys_of(p, unit), index)
    if at < 0:
        spill(h, p, place, unit, control, index, value)
        return
    size, more = p[A_VALUE_BYTES], p[A_MORE_WORDS]
    entry = unit[p[A_TABLE_AT] + at * size : p[A_TABLE_AT] + (at + 1) * size]
    if there:
        apply(p, entry, entry, value)
        charge(h, alu=1, load=1 + more, load_use=1, store=1 + more)
        charge_cycles(h, p[A_OPERATION], 1)
        p[N_MERGED] += 1
    else:
        copy_bytes(entry, value)
        words_of(unit)[U_STORED] += 1
        charge(h, alu=1, store=1 + more)
        p[N_INSERTED] += 1


@helper
def store_pairs(h, p, place, unit, control, data, pairs):  # type: ignore[no-untyped-def]
    """Put a packet's pairs into a unit, one after the other."""
    size = p[A_VALUE_BYTES]
    values_at = EMPTY_BYTES + INDEX_BYTES * pairs
    indices = data[EMPTY_BYTES:values_at].view(_U16)
    p[N_PAIRS] += pairs
    for number in range(pairs):
        value = data[values_at + number * size : values_at + (number + 1) * size]
        # index and value, with pointers that move on
        charge(h, load=2 + p[A_MORE_WORDS], load_use=1)
        store(h, p, place, unit, control, _I64(indices[number]), value)


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
def add_arrays(h, p, into, unit):  # type: ignore[no-untyped-def]
    """Sum a whole array into another; an entry that is not used is 0."""
    end = p[A_TABLE_AT] + p[A_ENTRIES] * p[A_VALUE_BYTES]
    total = into[p[A_TABLE_AT] : end]
    combine(h, p, total, total, unit[p[A_TABLE_AT] : end])
    keys, others = keys_of(p, into), keys_of(p, unit)
    stored = 0
    for word in range(keys.size):
        keys[word] |= others[word]
        bits = keys[word]
        while bits:
            bits &= bits - _U32(1)
            stored += 1
    # two words, their union written and its bits counted: an instruction of the cores'
    charge(h, load=2 * keys.size, store=keys.size, alu=4 * keys.size)
    p[N_MERGED] += words_of(into)[U_STORED] + words_of(unit)[U_STORED] - stored
    words_of(into)[U_STORED] = stored


@helper
def merge_units(h, p, where, place, control):  # type: ignore[no-untyped-def]
    """Move all pairs into unit 0; returns how many units were in use. Nobody else works on the block any more."""
    first = unit_of(p, place, 0)
    used = words_of(first)[U_BEGUN]
    size = p[A_VALUE_BYTES]
    for number in range(1, p[A_BUFFERS]):
        unit = unit_of(p, place, number)
        words = words_of(unit)
        charge(h, load=2, load_use=1, alu=2, branch=1)
        if words[U_BEGUN] == 0:
            continue
        used += 1
        if cluster(h) != where:
            charge_cycles(h, 2 * p[A_REMOTE_CYCLES] * (words[U_STORED] + words[U_SPILLED]), 0)
        if p[A_STORAGE] == ARRAY and p[A_OPERATOR] == SUM and WHOLE * words[U_STORED] > p[A_ENTRIES]:
            add_arrays(h, p, first, unit)
            words[U_STORED] = 0
            continue
        keys, spill_row = keys_of(p, unit), unit[p[A_SPILL_AT] :]
        at, index = next_entry(h, p, keys, _I64(0))
        while at < p[A_ENTRIES]:
            begin = p[A_TABLE_AT] + at * size
            charge(h, load=1 + p[A_MORE_WORDS], load_use=1, alu=1)
            store(h, p, place, first, control, index, unit[begin : begin + size])
            at, index = next_entry(h, p, keys, at + 1)
        for taken in range(words[U_SPILLED]):
            begin = EMPTY_BYTES + INDEX_BYTES * taken
            index = _I64(spill_row[begin : begin + INDEX_BYTES].view(_U16)[0])
            begin = EMPTY_BYTES + INDEX_BYTES * p[A_SPILL_ROOM] + taken * size
            charge(h, load=2 + p[A_MORE_WORDS], load_use=1)
            store(h, p, place, first, control, index, spill_row[begin : begin + size])
        words[U_STORED] = 0
        words[U_SPILLED] = 0
    return used
