"""Where a switch keeps a block's pairs: an array over all indices, or a hash table with a spill buffer.

Which entry a pair goes to is decided by compiled loops over integers; values are combined by numpy on whole packets, so
that every type and operator works. An entry is used when its own flag says so: a value of zero is a value like any
other, also one that came about by cancelling.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from emulator.native.jit import njit
from pspin_model.flare.elements import Operator, Values
from pspin_model.flare.sparse.wire import Indices

EMPTY = -1
SPILLED = -1
HASH_ENTRIES = {1: 1024, 2: 512, 4: 256}
"""Entries of Flare's handlers, by an element's bytes: about a packet's pairs and a half."""
WIDE_ENTRIES = 256
"""Entries of wider elements than theirs. [ours]"""
MULTIPLIER = np.uint32(0x9E3779B1)
"""Fibonacci hashing: neighbouring indices go far apart."""

Places = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Work:
    """What storing a packet took; the machine's costs are counted from these."""

    inserted: int = 0
    merged: int = 0
    probes: int = 0
    """Second looks, after the first entry was another's."""
    spilled: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.inserted + other.inserted,
            self.merged + other.merged,
            self.probes + other.probes,
            self.spilled + other.spilled,
        )


class Storage(Protocol):
    """A block's pairs."""

    def add(self, indices: Indices, values: Values) -> tuple[Work, Indices, Values]:
        """Store pairs with distinct indices; returns those without room."""
        ...

    def drain(self) -> tuple[Indices, Values]:
        """All pairs, in the order of the entries."""
        ...

    @property
    def capacity_bytes(self) -> int:
        """Memory that a block holds whether it is full or not."""
        ...


@dataclass(slots=True)
class ArrayStorage:
    """An entry for every index: no collisions, memory for the whole span."""

    span: int
    dtype: np.dtype[Any]
    operator: Operator
    values: Values = field(init=False)
    used: np.ndarray[Any, np.dtype[np.bool_]] = field(init=False)

    def __post_init__(self) -> None:
        self.values = np.zeros(self.span, self.dtype)
        self.used = np.zeros(self.span, np.bool_)

    def add(self, indices: Indices, values: Values) -> tuple[Work, Indices, Values]:
        merges = self.used[indices]
        _combine_into(self.values, indices.astype(np.int64), values, merges, self.operator)
        self.used[indices] = True
        merged = int(merges.sum())
        return Work(inserted=len(indices) - merged, merged=merged), indices[:0], values[:0]

    def drain(self) -> tuple[Indices, Values]:
        indices = np.flatnonzero(self.used).astype(np.uint16)
        return indices, self.values[indices]

    @property
    def capacity_bytes(self) -> int:
        """Values, and a bit for each."""
        return self.values.nbytes + -(-self.span // 8)


@dataclass(slots=True)
class HashStorage:
    """A table of a fixed size: an index with an occupied entry tries the next one (if ``probe``), then spills."""

    entries: int
    dtype: np.dtype[Any]
    operator: Operator
    probe: bool = True
    values: Values = field(init=False)
    keys: np.ndarray[Any, np.dtype[np.int32]] = field(init=False)

    def __post_init__(self) -> None:
        if self.entries < 1 or self.entries & (self.entries - 1):
            raise ValueError(f"a hash table of {self.entries} entries: a power of two is needed")
        self.values = np.zeros(self.entries, self.dtype)
        self.keys = np.full(self.entries, EMPTY, np.int32)

    def add(self, indices: Indices, values: Values) -> tuple[Work, Indices, Values]:
        places = np.empty(len(indices), np.int64)
        merges = np.empty(len(indices), np.bool_)
        probes = int(_place(self.keys, indices, self.probe, places, merges))
        stored = places != SPILLED
        _combine_into(self.values, places[stored], values[stored], merges[stored], self.operator)
        merged, kept = int(merges.sum()), int(stored.sum())
        work = Work(inserted=kept - merged, merged=merged, probes=probes, spilled=len(indices) - kept)
        return work, indices[~stored], values[~stored]

    def drain(self) -> tuple[Indices, Values]:
        used = self.keys != EMPTY
        return self.keys[used].astype(np.uint16), self.values[used]

    @property
    def capacity_bytes(self) -> int:
        """The value, and a word with the index + 1, 0 for none."""
        return self.entries * 4 + self.values.nbytes


def without_repeats(indices: Indices, values: Values) -> list[tuple[Indices, Values]]:
    """The pairs in parts in each of which an index comes once, in order. What hosts send is one part; what switches
    send has an index again that was spilled."""
    parts = []
    while len(indices) > 1 and not bool((indices[1:] > indices[:-1]).all()):
        _, first = np.unique(indices, return_index=True)
        chosen = np.zeros(len(indices), np.bool_)
        chosen[first] = True
        parts.append((indices[chosen], values[chosen]))
        indices, values = indices[~chosen], values[~chosen]
    if len(indices) or not parts:
        parts.append((indices, values))
    return parts


def _combine_into(table: Values, places: Places, values: Values, merges: Any, operator: Operator) -> None:
    """``places`` differ from each other."""
    fresh = ~merges
    table[places[fresh]] = values[fresh]
    if merges.any():
        at = places[merges]
        table[at] = operator(table[at], values[merges])


@njit
def first_entry(index, mask):  # type: ignore[no-untyped-def]
    """The entry at which an index is looked for first; ``mask`` is the table's entries less one."""
    return np.int64((np.uint32(index) * MULTIPLIER) >> np.uint32(16)) & mask


@njit
def _place(keys, indices, probe, places, merges):  # type: ignore[no-untyped-def]
    """For each index the entry it has or takes, or SPILLED; returns how often the next entry was looked at."""
    mask = len(keys) - 1
    probes = 0
    for i in range(len(indices)):
        index = np.int32(indices[i])
        at = first_entry(index, mask)
        if keys[at] != EMPTY and keys[at] != index and probe:
            probes += 1
            at = (at + 1) & mask
        places[i] = SPILLED
        merges[i] = False
        if keys[at] == index:
            places[i] = at
            merges[i] = True
        elif keys[at] == EMPTY:
            keys[at] = index
            places[i] = at
    return probes
