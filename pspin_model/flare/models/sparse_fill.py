"""The cost model carried over to sparse blocks: how pairs fill a storage, what a packet costs, what bounds the rate.

The paper has formulas for dense blocks only (`models.dense`). These are ours, in its terms, with these more:

    r   density               part of the elements that a child sends, each independent of the others
    s   span                  indices of a block
    n   per_packet            pairs that fill a packet
    T   entries               of a hash table
    u   distinct              different indices that came so far: s (1 - (1-r)^c) after c children
    x   u / T

Pairs of a child in a block are binomial(s, r); means are taken where what follows is about linear. A hash table that
looks at a second entry takes a new index unless both are taken: dI/du = 1 - (I/T)^2, so that I = T tanh(u/T) indices
are stored; one that does not: I = T (1 - exp(-u/T)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pspin_model.flare.sparse.reference import SparseShape
from pspin_model.flare.sparse.wire import EMPTY_BYTES, INDEX_BYTES


@dataclass(frozen=True, slots=True)
class Filling:
    """What becomes of a block's pairs, on average over blocks."""

    packets: float
    """That bring them, from all children."""
    pairs: float
    distinct: float
    """Different indices among them: the result's."""
    inserted: float
    """Indices that the storage has taken."""
    merged: float
    spilled: float
    probes: float
    """Looks at a second entry."""
    flushes: float
    """Fragments that a full spill buffer makes."""
    packets_out: float
    bytes_in: float
    bytes_out: float
    extra_bytes: float
    """Beyond what every index once, in packets as full as can be, would take."""


def distinct_indices(span: float, density: float, children: int) -> float:
    """u = s (1 - (1-r)^P): the union of children that choose independently. Over all switches below, this is how a
    result fills up on its way to the root."""
    return span * -math.expm1(children * math.log1p(-density)) if density < 1 else span


def stored_indices(distinct: float, entries: int, *, probe: bool) -> float:
    """I of u different indices in a hash table of T entries."""
    x = distinct / entries
    return entries * (math.tanh(x) if probe else -math.expm1(-x))


def stored_second(distinct: float, entries: int, *, probe: bool) -> float:
    """Those stored in their second entry: the integral of (I/T) (1 - I/T)."""
    if not probe:
        return 0.0
    x = distinct / entries
    log_cosh = x + math.log1p(math.exp(-2 * x)) - math.log(2)
    return entries * max(0.0, log_cosh - x + math.tanh(x))


def fragments(span: int, density: float, per_packet: int) -> float:
    """Packets of a child's block: the mean of max(1, ceil(X/n)), X binomial(s, r), as a normal variable."""
    mean, deviation = span * density, math.sqrt(span * density * (1 - density))
    count = 1.0
    for full in range(1, math.ceil(span / per_packet)):
        above = full * per_packet + 0.5 - mean
        part = 0.5 * math.erfc(above / deviation / math.sqrt(2)) if deviation else float(above < 0)
        count += part
        if part < 1e-9 and above > 0:
            break
    return count


def filling(shape: SparseShape, density: float, span: float) -> Filling:
    """What a block of ``span`` indices (a message's last is shorter than the shape's) does on one switch."""
    children, pairs = shape.children, density * span * shape.children
    each = density * span
    distinct = distinct_indices(span, density, children)
    packets = children * fragments(math.ceil(span), density, shape.per_packet)
    inserted, merged, probes = distinct, pairs - distinct, 0.0
    if shape.storage == "hash":
        inserted, merged, probes = 0.0, 0.0, 0.0
        for child in range(children):
            before = distinct_indices(span, density, child)
            held = stored_indices(before, shape.entry_count, probe=shape.probe)
            inserted = stored_indices(distinct_indices(span, density, child + 1), shape.entry_count, probe=shape.probe)
            merged += each * held / span
            taken = held / shape.entry_count
            second = stored_second(before, shape.entry_count, probe=shape.probe)
            # one already stored takes two probes where it is second, every other where its first entry is taken
            probes += each * (second / span + (1 - held / span) * taken) if shape.probe else 0.0
    spilled = max(0.0, pairs - inserted - merged)
    flushes = math.floor(spilled / shape.spill_room) if spilled else 0
    left = inserted + spilled - flushes * shape.spill_room
    packets_out = flushes + max(1.0, math.ceil(left / shape.per_packet))
    pair_bytes = INDEX_BYTES + shape.dtype.itemsize
    bytes_out = packets_out * EMPTY_BYTES + (inserted + spilled) * pair_bytes
    least = max(1, math.ceil(distinct / shape.per_packet)) * EMPTY_BYTES + distinct * pair_bytes
    return Filling(
        packets=packets,
        pairs=pairs,
        distinct=distinct,
        inserted=inserted,
        merged=merged,
        spilled=spilled,
        probes=probes,
        flushes=flushes,
        packets_out=packets_out,
        bytes_in=packets * EMPTY_BYTES + pairs * pair_bytes,
        bytes_out=bytes_out,
        extra_bytes=bytes_out - least,
    )
