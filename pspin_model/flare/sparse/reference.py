"""Sparse reduction on one switch, without time: fragments of blocks come from children and go up as fragments.

As in Flare's handlers a block's pairs are in an array or a hash table, pairs without room go to a spill buffer, and a
full spill buffer goes up at once as a further fragment. Mended here:

- every fragment has a number: a repeat is recognised, and a lost one is missed until it comes again;
- a block without pairs is an empty fragment; an index with values that cancel stays, with value 0;
- what was sent stays until the result is there: a child that repeats a fragment of a complete block makes the switch
  send its own again, one that repeats after the result gets that. So only hosts need timers.

Slots: a host sends block b only after it has the result of block b - slots. So block b + slots being complete proves
that everyone has result b: it is kept until block b + 2 slots comes, in one of two sets of slots, and can be asked for
until then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from pspin_model.flare.elements import Operator, Values
from pspin_model.flare.sparse.storage import (
    HASH_ENTRIES,
    WIDE_ENTRIES,
    ArrayStorage,
    HashStorage,
    Storage,
    Work,
    without_repeats,
)
from pspin_model.flare.sparse.wire import (
    EMPTY_BYTES,
    INDEX_BYTES,
    Fragment,
    FragmentError,
    Indices,
    cut,
    pairs_per_packet,
)

STORAGES = ("hash", "array")


@dataclass(frozen=True, slots=True)
class SparseShape:
    """One sparse reduction on one switch."""

    span: int
    """Indices of a block."""
    children: int
    dtype: np.dtype[Any]
    slots: int = 32
    """Blocks of a host under way at a time."""
    storage: str = "hash"
    """One of STORAGES."""
    entries: int = 0
    """Entries of the hash table; 0: as Flare's handlers, by type."""
    probe: bool = True
    spill_pairs: int = 0
    """Room of the spill buffer; 0: a packet's worth."""
    packet_bytes: int = 1024

    @property
    def per_packet(self) -> int:
        return pairs_per_packet(self.dtype, self.packet_bytes)

    @property
    def spill_room(self) -> int:
        return self.spill_pairs or self.per_packet

    @property
    def entry_count(self) -> int:
        """Values that a block's storage has room for."""
        return (
            self.span
            if self.storage == "array"
            else self.entries or HASH_ENTRIES.get(self.dtype.itemsize, WIDE_ENTRIES)
        )

    @property
    def block_bytes(self) -> int:
        """Memory of one block: its storage and its spill buffer."""
        return self.make_storage(_NO_OPERATOR).capacity_bytes + self.spill_room * (2 + self.dtype.itemsize)

    def make_storage(self, operator: Operator) -> Storage:
        if self.storage == "array":
            return ArrayStorage(self.span, self.dtype, operator)
        if self.storage == "hash":
            return HashStorage(self.entry_count, self.dtype, operator, self.probe)
        raise ValueError(f"storage {self.storage!r}: choose array or hash")


_NO_OPERATOR = Operator("none", lambda left, _right: left)


class Outcome(Enum):
    """What became of a fragment."""

    STORED = "stored"
    COMPLETED = "completed"
    """The last of the last child."""
    REPEAT = "repeat"
    SENT_AGAIN = "sent again"
    """A repeat for a complete block without a result: our fragments go up again."""
    SERVED_AGAIN = "served again"
    """A repeat for a block with a result: that goes to the child."""
    OUTSIDE = "outside"
    """The block's slot belongs to another block: it is old, or was sent too early."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a fragment led to."""

    outcome: Outcome
    work: Work = field(default_factory=Work)
    up: tuple[Fragment, ...] = ()
    down: tuple[Fragment, ...] = ()
    """Fragments to the child that sent."""


@dataclass(slots=True)
class Totals:
    """Over a node's life."""

    inserted: int = 0
    merged: int = 0
    probes: int = 0
    spilled: int = 0
    flushes: int = 0
    """Fragments that a full spill buffer made before its block was complete."""
    repeats: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    indices_up: int = 0
    """Indices of complete blocks, each once: how full the result is at this level."""
    extra_bytes: int = 0
    """Sent up beyond what every index once, in packets as full as can be, would have taken."""

    def add(self, work: Work) -> None:
        self.inserted += work.inserted
        self.merged += work.merged
        self.probes += work.probes
        self.spilled += work.spilled


@dataclass(slots=True)
class _Arrivals:
    """Which fragments of one child have come."""

    total: int = 0
    numbers: set[int] = field(default_factory=set)

    def take(self, fragment: Fragment) -> bool:
        """Whether it is new. Raises FragmentError where it contradicts what came before."""
        if fragment.fragment in self.numbers:
            return False
        total = fragment.fragments or self.total
        if (total and max(fragment.fragment, *self.numbers, 0) >= total) or (
            self.total and fragment.fragments not in (0, self.total)
        ):
            raise FragmentError(
                f"block {fragment.block}: child {fragment.child} sends fragment {fragment.fragment} of "
                f"{fragment.fragments or 'many'}, after {sorted(self.numbers)} of {self.total or 'many'}"
            )
        self.total = total
        self.numbers.add(fragment.fragment)
        return True

    @property
    def complete(self) -> bool:
        return self.total != 0 and len(self.numbers) == self.total


@dataclass(slots=True)
class _Block:
    number: int
    storage: Storage
    arrivals: list[_Arrivals]
    missing: int
    spilled: list[tuple[Indices, Values]] = field(default_factory=list)
    spilled_pairs: int = 0
    sent: list[Fragment] = field(default_factory=list)
    complete: bool = False
    result: tuple[Fragment, ...] = ()


class SparseNode:
    """A switch of the tree. `take` what children send, `finish` what the parent sends down (the root finishes by
    itself)."""

    def __init__(
        self, shape: SparseShape, operator: Operator, *, is_root: bool = True, number: int = 0, base: int = 0
    ) -> None:
        """``number`` is its number among its parent's children; ``base`` the reduction's first block."""
        self.shape = shape
        self.operator = operator
        self.totals = Totals()
        self._is_root = is_root
        self._number = number
        self._base = base
        self._slots: list[_Block | None] = [None] * (2 * shape.slots)

    def take(self, fragment: Fragment) -> Taken:
        """One packet of a child. Raises FragmentError, and changes nothing, for one that cannot be of this reduction:
        a wrong child or type, an index beyond the span, numbers that contradict earlier ones."""
        self._check(fragment)
        block = self._block_for(fragment.block)
        if block is None:
            return Taken(Outcome.OUTSIDE)
        arrivals = block.arrivals[fragment.child]
        if not arrivals.take(fragment):
            return self._repeat(block)
        self.totals.bytes_in += fragment.wire_bytes
        work, up = self._store(block, fragment)
        if arrivals.complete:
            block.missing -= 1
        if block.missing:
            return Taken(Outcome.STORED, work, tuple(up))
        return self._complete(block, work, up)

    def finish(self, fragments: tuple[Fragment, ...]) -> None:
        """The parent's result for a block, whole."""
        block = self._slots[fragments[0].block % len(self._slots)]
        if block is not None and block.number == fragments[0].block and block.complete:
            block.result = fragments

    def result(self, number: int) -> tuple[Fragment, ...]:
        """A block's result as this node has it; empty while there is none."""
        block = self._slots[number % len(self._slots)]
        return block.result if block is not None and block.number == number else ()

    @property
    def working_bytes(self) -> int:
        """Bytes of unfinished blocks."""
        return sum(self.shape.block_bytes for block in self._slots if block is not None and not block.complete)

    def _check(self, fragment: Fragment) -> None:
        shape = self.shape
        where = f"block {fragment.block}, child {fragment.child}"
        if not 0 <= fragment.child < shape.children:
            raise FragmentError(f"{where}: this reduction has children 0 to {shape.children - 1}")
        if fragment.values.dtype != shape.dtype or len(fragment.values) != len(fragment.indices):
            raise FragmentError(f"{where}: values are {fragment.values.dtype}, not {shape.dtype}, one for each index")
        if len(fragment.indices) and int(fragment.indices.max()) >= shape.span:
            raise FragmentError(f"{where}: index {fragment.indices.max()}; a block has {shape.span}")

    def _block_for(self, number: int) -> _Block | None:
        """The block's state, made when its slot is free for it."""
        slot = number % len(self._slots)
        held = self._slots[slot]
        if held is not None and held.number == number:
            return held
        first = held is None and self._base <= number < self._base + len(self._slots)
        follows = held is not None and number == held.number + len(self._slots) and bool(held.result)
        if not first and not follows:
            return None
        children = self.shape.children
        made = _Block(number, self.shape.make_storage(self.operator), [_Arrivals() for _ in range(children)], children)
        self._slots[slot] = made
        return made

    def _repeat(self, block: _Block) -> Taken:
        self.totals.repeats += 1
        if block.result:
            return Taken(Outcome.SERVED_AGAIN, down=block.result)
        if block.complete:
            return Taken(Outcome.SENT_AGAIN, up=tuple(block.sent))
        return Taken(Outcome.REPEAT)

    def _store(self, block: _Block, fragment: Fragment) -> tuple[Work, list[Fragment]]:
        """Put a fragment's pairs into storage and spill buffer; returns what went up for want of room."""
        total, up = Work(), []
        for part in without_repeats(fragment.indices, fragment.values):
            work, indices, values = block.storage.add(*part)
            total += work
            up += self._spill(block, indices, values)
        self.totals.add(total)
        return total, up

    def _spill(self, block: _Block, indices: Indices, values: Values) -> list[Fragment]:
        """Put pairs into the spill buffer; full ones go up."""
        if not len(indices):
            return []
        block.spilled.append((indices, values))
        block.spilled_pairs += len(indices)
        made: list[Fragment] = []
        room = self.shape.spill_room
        while block.spilled_pairs >= room:
            all_indices, all_values = _joined(block.spilled, self.shape.dtype)
            first = len(block.sent)
            at = min(room, self.shape.per_packet)
            fragment = Fragment(block.number, self._number, first, 0, all_indices[:at], all_values[:at])
            block.sent.append(fragment)
            made.append(fragment)
            self.totals.flushes += 1
            block.spilled = [(all_indices[at:], all_values[at:])]
            block.spilled_pairs -= at
        self.totals.bytes_out += sum(fragment.wire_bytes for fragment in made)
        return made

    def _complete(self, block: _Block, work: Work, up: list[Fragment]) -> Taken:
        stored = block.storage.drain()
        indices, values = _joined([stored, *block.spilled], self.shape.dtype)
        last = cut(block.number, self._number, indices, values, self.shape.per_packet, len(block.sent))
        block.sent += last
        block.complete = True
        block.spilled, block.spilled_pairs = [], 0
        self.totals.bytes_out += sum(fragment.wire_bytes for fragment in last)
        self._count_extra(block.sent)
        if self._is_root:
            block.result = tuple(block.sent)
        return Taken(Outcome.COMPLETED, work, (*up, *last))

    def _count_extra(self, sent: list[Fragment]) -> None:
        once = len(np.unique(np.concatenate([fragment.indices for fragment in sent])))
        packets = max(1, -(-once // self.shape.per_packet))
        least = packets * EMPTY_BYTES + once * (INDEX_BYTES + self.shape.dtype.itemsize)
        self.totals.indices_up += once
        self.totals.extra_bytes += sum(fragment.wire_bytes for fragment in sent) - least


def _joined(parts: list[tuple[Indices, Values]], dtype: np.dtype[Any]) -> tuple[Indices, Values]:
    return (
        np.concatenate([part[0] for part in parts]).astype(np.uint16),
        np.concatenate([part[1] for part in parts]).astype(dtype),
    )


def gather(fragments: tuple[Fragment, ...], span: int, operator: Operator, fill: Any = 0) -> Values:
    """A block's result as a dense row; an index may come several times (it was spilled), and one that nobody sent is
    ``fill``."""
    dtype = fragments[0].values.dtype
    row = np.full(span, fill, dtype)
    seen = np.zeros(span, np.bool_)
    for fragment in fragments:
        for indices, values in without_repeats(fragment.indices, fragment.values):
            merge = seen[indices]
            row[indices[~merge]] = values[~merge]
            row[indices[merge]] = operator(row[indices[merge]], values[merge])
            seen[indices] = True
    return row
