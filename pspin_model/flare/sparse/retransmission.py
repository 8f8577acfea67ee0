"""What a switch of a tree does about lost fragments: it answers requests, and passes them on.

A request says of a block which fragments its sender has (`wire.REQUEST`); what becomes of it is in
`pspin_model.flare.retransmission`. A switch lacks a child's packet until all of its fragments are there.

Costs are declared by operation counts, as in `handlers`.
"""

from __future__ import annotations

import numpy as np

from pspin_model.flare.block_memory import block_of
from pspin_model.flare.records import A_AGAIN, A_CHILDREN, A_IS_ROOT, A_PAUSE, A_PORT
from pspin_model.flare.retransmission import AT_PAIRS, ask_child, ask_parent, asker, port_of_asker, put_word, word_at
from pspin_model.flare.sparse.records import (
    A_FRAGMENT_WORDS,
    A_KEPT,
    A_OUT_AT,
    A_OUT_BYTES,
    A_VALUE_BYTES,
    FRAGMENTS_A_WORD,
    OUT_ROWS,
    S_AGAIN,
    S_CHILDREN,
    S_DONE,
    S_SENT,
)
from pspin_model.flare.sparse.units import kept_row, put_header
from pspin_model.flare.sparse.wire import EMPTY_BYTES, INDEX_BYTES, REQUEST
from pspin_model.handlers import (
    charge,
    cluster,
    core_in_cluster,
    helper,
    now,
    scratchpad,
    send_packet,
    wait,
)

BYTES_A_WORD = FRAGMENTS_A_WORD // 8
"""Bytes of a word of the bit field of fragments."""


@helper
def send_missing(h, p, place, control, data, port):  # type: ignore[no-untyped-def]
    """Send those kept fragments again that a request has no bit for."""
    given = data.size - EMPTY_BYTES
    for number in range(control[S_SENT]):
        # the bit's byte, address and shift
        charge(h, load=1, load_use=1, alu=4, branch=2)
        if number >> 3 < given and data[EMPTY_BYTES + (number >> 3)] >> (number & 7) & 1:
            continue
        row = kept_row(h, p, place, number)
        length = EMPTY_BYTES + word_at(row, AT_PAIRS) * (INDEX_BYTES + p[A_VALUE_BYTES])
        charge(h, load=1, load_use=1, alu=4, mul=1)
        p[A_AGAIN] += 1
        send_packet(h, row[:length], block_of(h), port)


@helper
def request_of_child(h, p, control, child):  # type: ignore[no-untyped-def]
    """Ask a child for what has not come of its fragments."""
    begin = p[A_OUT_AT] + core_in_cluster(h) * OUT_ROWS * p[A_OUT_BYTES]
    row = scratchpad(h, cluster(h), np.uint8)[begin : begin + p[A_OUT_BYTES]]
    came = S_CHILDREN + p[A_CHILDREN] + child * p[A_FRAGMENT_WORDS]
    words = min(p[A_FRAGMENT_WORDS], (p[A_OUT_BYTES] - EMPTY_BYTES) // BYTES_A_WORD)
    for word in range(words):
        bits = control[came + word]
        charge(h, load=1, load_use=1, store=1, alu=2, branch=1)
        for byte in range(BYTES_A_WORD):
            row[EMPTY_BYTES + word * BYTES_A_WORD + byte] = bits >> (8 * byte) & 255
    put_header(h, p, row, 0, REQUEST, 0)
    put_word(row, AT_PAIRS, words * BYTES_A_WORD)
    length = EMPTY_BYTES + words * BYTES_A_WORD
    wait(h, ask_child(h, p, row[:length], child))


@helper
def answer_sparse(h, p, place, control, data):  # type: ignore[no-untyped-def]
    """Do what a request asks for, or ask further. Nothing without room to keep what was sent."""
    charge(h, load=3, load_use=2, alu=3, branch=4)
    if p[A_KEPT] == 0:
        return
    child = asker(h)
    if child == p[A_CHILDREN]:
        at = now(h)
        if control[S_AGAIN] == 0 or at - control[S_AGAIN] >= p[A_PAUSE]:
            control[S_AGAIN] = at
            charge(h, store=1)
            send_missing(h, p, place, control, data, p[A_PORT])
        return
    first = control[S_CHILDREN + p[A_CHILDREN] + child * p[A_FRAGMENT_WORDS]] & 1
    if first == 0 or control[S_CHILDREN + child] != 0:
        request_of_child(h, p, control, child)
    elif control[S_DONE] and p[A_IS_ROOT]:
        send_missing(h, p, place, control, data, port_of_asker(data))
    elif control[S_DONE]:
        ask_parent(h, p, control, data)
