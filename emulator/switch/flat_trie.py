"""Tries over prefixes in flat memory: what lpm tables search (layout: ``emulator.p4.table_layout``).

A trie's slot is empty, or leads to a node, or to a chain: up to ``CHAIN`` prefixes, longest first, each compared whole.
A longer chain becomes a node, which skips the bits that all its prefixes share and tells 2 ** 8 slots apart. A prefix
that ends among the bits of a node is written into all slots it covers ("best"), unless a longer one of the same node is
there; nodes below are left alone, for a search remembers the best on its way down. So a change touches one node's slots
or one chain, whatever the trie's size.

Prefixes are Python numbers of the key's full width; positions count bits from the most significant one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from emulator.p4.table_layout import (
    LPM_NODE,
    NODE_BITS,
    NODE_HEADER_WORDS,
    NODE_OFFSET,
    NODE_SHIFT,
    NODE_SKIP_MASK,
    NODE_SKIPPED,
    WORD_BITS,
    WORD_MASK,
)
from emulator.ports.pages import table_bytes

Link: TypeAlias = Callable[[int, int], None]
"""``link(number, next)`` writes a chain's link into an entry."""

CHAIN = 4
"""Longest chain: one miss of the cache for each of its prefixes, against two kilobytes for a node."""
FIRST_ARENA_WORDS = 1 << 12


@dataclass(slots=True)
class Prefix:
    """``value`` has zeros beyond the prefix."""

    home: int
    """Number of the entry's own place."""
    value: int
    length: int
    number: int
    """Of the entry where it lies now."""


class Slots(Protocol):
    """Of one node, in the memory that packets read; an index is the node's bits of a key."""

    count: int

    def put(self, index: int, reference: int) -> None:
        """What LPM_CHILD says; 0: nothing."""
        ...

    def put_chain(self, index: int, chain: list[Prefix]) -> None:
        """At least one, the longest first. Their entries may move."""
        ...

    def put_best(self, first: int, last: int, which: NDArray[np.bool_], number: int) -> None:
        """The best of the chosen ones of some slots, counted from the node's first; 0: none."""
        ...


@dataclass(slots=True)
class Node:
    slots: Slots
    place: int
    """In the arena, in words; the root of rooted tries lies elsewhere. A node without bits is one slot without a
    header."""
    prefix: int
    """Its first ``start`` bits are those of all prefixes below."""
    checked: int
    """Bits before this one are known to agree when a search comes here; those up to ``start`` are skipped."""
    start: int
    bits: int
    children: dict[int, Node | list[Prefix]] = field(default_factory=dict)
    own: dict[tuple[int, int], Prefix] = field(default_factory=dict)
    """Prefixes that end at this node, by value and length: longer than ``start`` (but for length 0 at the root), at
    most as long as ``end``."""
    lengths: NDArray[np.uint8] | None = None
    """Of the best prefix of each slot: its length less ``start``, plus 1; 0 where there is none."""
    first: int = 0
    """Index of the first slot; there are ``2 ** bits`` from it on or, in a root that lacks some, fewer."""

    @property
    def end(self) -> int:
        return self.start + self.bits

    @property
    def is_empty(self) -> bool:
        return not self.children and not self.own


class Arena:
    """Memory for nodes. Growing moves it: ``moved`` is told the new one."""

    def __init__(self, words: int, moved: Callable[[NDArray[np.uint64]], None]) -> None:
        self._moved = moved
        self._next = 8
        self._free: dict[int, list[int]] = {}
        self._set(table_bytes(8 * max(words, FIRST_ARENA_WORDS)).view(np.uint64))

    def _set(self, words: NDArray[np.uint64]) -> None:
        self.words = words
        self.view = memoryview(words)  # type: ignore[arg-type]
        self.halves: NDArray[np.uint32] = words.view(np.uint32)
        self._moved(words)

    def take(self, size: int) -> int:
        """The place of so many words, all zero."""
        free = self._free.get(size)
        if free:
            place = free.pop()
            self.words[place : place + size] = 0
            return place
        place = self._next
        self._next += size
        if self._next > len(self.words):
            larger = table_bytes(8 * max(2 * len(self.words), self._next)).view(np.uint64)
            larger[: len(self.words)] = self.words
            self._set(larger)
        return place

    def free(self, place: int, size: int) -> None:
        self._free.setdefault(size, []).append(place)


class ArenaSlots:
    """Words {child, best} from ``start`` on."""

    __slots__ = ("_arena", "_halves_from", "_link", "count")

    def __init__(self, arena: Arena, start: int, count: int, link: Link) -> None:
        self._arena, self._halves_from, self._link, self.count = arena, 2 * start, link, count

    def put(self, index: int, reference: int) -> None:
        self._arena.halves[self._halves_from + 2 * index] = reference

    def put_chain(self, index: int, chain: list[Prefix]) -> None:
        following = 0
        for prefix in reversed(chain):
            self._link(prefix.number, following)
            following = prefix.number
        self.put(index, following)

    def put_best(self, first: int, last: int, which: NDArray[np.bool_], number: int) -> None:
        start = self._halves_from
        self._arena.halves[start + 2 * first + 1 : start + 2 * last : 2][which] = number


class Trie:
    """One trie, hanging from ``root``: a slot of the arena, or what the caller has. ``link``: into an entry."""

    def __init__(self, arena: Arena, width_bits: int, link: Link, root: Node | None = None) -> None:
        self._arena = arena
        self._width = width_bits
        self._link = link
        if root is None:
            place = arena.take(1)
            root = Node(ArenaSlots(arena, place, 1, link), place, 0, 0, 0, 0)
        self.root = root

    # --- Changes ----------------------------------------------------------------------------------------------------

    def insert(self, prefix: Prefix) -> None:
        self._insert(self.root, prefix)

    def _insert(self, node: Node, prefix: Prefix) -> None:
        while prefix.length > node.end:
            index = self._index(node, prefix.value)
            child = node.children.get(index)
            if isinstance(child, Node):
                node = self._enter(node, index, child, prefix)
                continue
            chain = child if child is not None else []
            chain.append(prefix)
            chain.sort(key=lambda p: -p.length)
            if len(chain) > CHAIN:
                self._split(node, index, chain)
            else:
                node.children[index] = chain
                node.slots.put_chain(index, chain)
            return
        self._cover(node, prefix)

    def remove(self, prefix: Prefix) -> None:
        """One that was inserted."""
        path: list[tuple[Node, int]] = []
        node = self.root
        while prefix.length > node.end:
            index = self._index(node, prefix.value)
            child = node.children[index]
            path.append((node, index))
            if isinstance(child, Node):
                node = child
                continue
            child[:] = [p for p in child if p.number != prefix.number]
            if child:
                node.slots.put_chain(index, child)
                return
            self._drop_child(node, index)
            path.pop()
            break
        else:
            self._uncover(node, prefix)
        while node.is_empty and path:
            self._arena.free(node.place, NODE_HEADER_WORDS + (1 << node.bits))
            node, index = path.pop()
            self._drop_child(node, index)

    # --- Nodes ------------------------------------------------------------------------------------------------------

    def _make_node(self, value: int, checked: int, start: int, bits: int) -> Node:
        place = self._arena.take(NODE_HEADER_WORDS + (1 << bits))
        slots = ArenaSlots(self._arena, place + NODE_HEADER_WORDS, 1 << bits, self._link)
        node = Node(slots, place, value, checked, start, bits)
        skip = start - checked
        view = self._arena.view
        mask = (WORD_MASK << (WORD_BITS - skip)) & WORD_MASK
        view[place + NODE_SKIPPED] = self._window(value, checked) & mask
        view[place + NODE_SKIP_MASK] = mask
        view[place + NODE_OFFSET] = checked
        view[place + NODE_SHIFT] = (WORD_BITS - skip - bits) | ((1 << bits) - 1) << 32
        return node

    def _window(self, value: int, offset: int) -> int:
        """The 64 bits of a key from this one on."""
        shift = self._width - offset - WORD_BITS
        return (value >> shift if shift >= 0 else value << -shift) & WORD_MASK

    def _index(self, node: Node, value: int) -> int:
        shift = self._width - node.end
        return (value >> shift if shift >= 0 else value << -shift) & ((1 << node.bits) - 1)

    def _agree(self, first: int, second: int) -> int:
        """How many leading bits are the same."""
        return self._width - (first ^ second).bit_length()

    def _enter(self, parent: Node, index: int, child: Node, prefix: Prefix) -> Node:
        """The node to go on in: the child, or a new one above it if the prefix leaves the bits that the child skips."""
        start = min(self._agree(prefix.value, child.prefix), prefix.length - 1)
        if start >= child.start:
            return child
        middle = self._make_node(child.prefix, parent.end, start, min(NODE_BITS, child.start - start))
        self._put_child(parent, index, middle)
        self._put_child(middle, self._index(middle, child.prefix), self._lower(child, middle.end))
        self._arena.free(child.place, NODE_HEADER_WORDS + (1 << child.bits))
        return middle

    def _lower(self, node: Node, checked: int) -> Node:
        """The same node with fewer bits to skip."""
        fresh = self._make_node(node.prefix, checked, node.start, node.bits)
        fresh.children, fresh.own, fresh.lengths = node.children, node.own, node.lengths
        first, size = NODE_HEADER_WORDS, 1 << node.bits
        words = self._arena.words
        words[fresh.place + first : fresh.place + first + size] = words[node.place + first : node.place + first + size]
        return fresh

    def _split(self, parent: Node, index: int, chain: list[Prefix]) -> None:
        """A node in the place of a chain that has become too long."""
        first = chain[0].value
        start = min(min(self._agree(first, p.value), p.length - 1) for p in chain)
        start = min(start, parent.end + WORD_BITS - NODE_BITS)
        node = self._make_node(first, parent.end, start, min(NODE_BITS, self._width - start))
        self._put_child(parent, index, node)
        for prefix in chain:
            self._insert(node, prefix)

    # --- Slots ------------------------------------------------------------------------------------------------------

    def _put_child(self, node: Node, index: int, child: Node) -> None:
        node.children[index] = child
        node.slots.put(index, LPM_NODE | child.place)

    def _drop_child(self, node: Node, index: int) -> None:
        del node.children[index]
        node.slots.put(index, 0)

    def _covered(self, node: Node, value: int, length: int) -> tuple[int, int]:
        """The slots under a prefix, counted from the first one: from which to before which."""
        first = self._index(node, value) - node.first
        return max(0, first), min(node.slots.count, first + (1 << (node.end - length)))

    def _cover(self, node: Node, prefix: Prefix) -> None:
        node.own[prefix.value, prefix.length] = prefix
        if node.lengths is None:
            node.lengths = np.zeros(node.slots.count, np.uint8)
        first, last = self._covered(node, prefix.value, prefix.length)
        lengths = node.lengths[first:last]
        shorter = lengths <= prefix.length - node.start
        node.slots.put_best(first, last, shorter, prefix.number)
        lengths[shorter] = prefix.length - node.start + 1

    def _uncover(self, node: Node, prefix: Prefix) -> None:
        del node.own[prefix.value, prefix.length]
        assert node.lengths is not None
        best = next(self._shorter(node, prefix), None)
        first, last = self._covered(node, prefix.value, prefix.length)
        lengths = node.lengths[first:last]
        bared = lengths == prefix.length - node.start + 1
        node.slots.put_best(first, last, bared, best.number if best is not None else 0)
        lengths[bared] = best.length - node.start + 1 if best is not None else 0

    def _shorter(self, node: Node, prefix: Prefix) -> Iterator[Prefix]:
        """Shorter prefixes of the node that cover this one, longest first."""
        for length in range(prefix.length - 1, node.start - 1, -1):
            shift = self._width - length
            found = node.own.get((prefix.value >> shift << shift, length))
            if found is not None:
                yield found
