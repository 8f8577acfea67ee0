"""How a handler finds its parameters, its block's place and the packet, and notes what the place is used for."""

from __future__ import annotations

import numpy as np

from pspin_model.flare.records import (
    A_CLUSTERS_PER_GROUP,
    A_CONTROL_WORDS,
    A_LOCKS_PER_PLACE,
    A_LOG,
    A_LOG_COUNT,
    A_PLACE_BYTES,
    A_PLACES,
    A_ROW_BYTES,
    BLOCK_BITS,
    WORD_BYTES,
)
from pspin_model.handlers import cluster, handler_memory, helper, packet, scratchpad, tag
from pspin_model.handlers.core import row
from pspin_model.handlers.memory import view
from pspin_model.machine.layout import H_PENDING, H_SEGMENT


@helper
def parameters(h):  # type: ignore[no-untyped-def]
    """The words of `records`, int64."""
    return handler_memory(h, np.int64)


@helper
def home(h, p):  # type: ignore[no-untyped-def]
    """The cluster where the block's place is: the first of the clusters that work on it."""
    return cluster(h) // p[A_CLUSTERS_PER_GROUP] * p[A_CLUSTERS_PER_GROUP]


@helper
def place_bytes(h, p, where):  # type: ignore[no-untyped-def]
    """The block's place in the L1 of cluster ``where``."""
    place = tag(h) >> BLOCK_BITS
    size = p[A_PLACE_BYTES]
    return scratchpad(h, where, np.uint8)[place * size : (place + 1) * size]


@helper
def row_of(p, place, number):  # type: ignore[no-untyped-def]
    """A row of a dense block's place."""
    at = p[A_CONTROL_WORDS] * WORD_BYTES + number * p[A_ROW_BYTES]
    return place[at : at + p[A_ROW_BYTES]]


@helper
def first_lock(h, p, where):  # type: ignore[no-untyped-def]
    """Number of the first of the place's own locks."""
    return (where * p[A_PLACES] + (tag(h) >> BLOCK_BITS)) * p[A_LOCKS_PER_PLACE]


@helper
def begin(h):  # type: ignore[no-untyped-def]
    """The parameters, the block's cluster, its place as bytes and as control words, and the packet."""
    p = parameters(h)
    where = home(h, p)
    place = place_bytes(h, p, where)
    return p, where, place, place.view(np.int64), packet(h, np.uint8)


@helper
def block_of(h):  # type: ignore[no-untyped-def]
    """The block's number."""
    return tag(h) & ((np.int64(1) << BLOCK_BITS) - 1)


@helper
def note_buffers(h, p, taken, count):  # type: ignore[no-untyped-def]
    """Write down that buffers are taken into use, or given back, at this core's time; costs nothing."""
    r = row(h)
    log = view(p[A_LOG], (p[A_LOG_COUNT] + count) * WORD_BYTES, np.int64)
    for _ in range(count):
        log[p[A_LOG_COUNT]] = 2 * (r[H_SEGMENT] + r[H_PENDING]) + taken
        p[A_LOG_COUNT] += 1
