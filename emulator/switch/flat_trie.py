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
from emulator.switch.pages import table_bytes

CHAIN = 4
"""Longest chain: one miss of the cache for each of its prefixes, against two kilobytes for a node."""
FIRST_ARENA_WORDS = 1 << 12


@dataclass(slots=True)
class Prefix:
    """``number`` is the entry's; ``value`` has zeros beyond the prefix."""

    number: int
    value: int
    length: int


@dataclass(slots=True)
class Node:
    place: int
    """In the arena, in words. A node without bits is one slot without a header."""
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


class Trie:
    """One trie, hanging from ``root``. ``link(number, next)`` writes a chain's link into an entry."""

    def __init__(self, arena: Arena, width_bits: int, root: Node, link: Callable[[int, int], None]) -> None:
        self.root = root
        self._arena = arena
        self._width = width_bits
        self._link = link

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
                self._write_chain(node, index, chain)
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
                self._write_chain(node, index, child)
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

    def make_node(self, value: int, checked: int, start: int, bits: int) -> Node:
        node = Node(self._arena.take(NODE_HEADER_WORDS + (1 << bits)), value, checked, start, bits)
        skip = start - checked
        view, place = self._arena.view, node.place
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
        middle = self.make_node(child.prefix, parent.end, start, min(NODE_BITS, child.start - start))
        self._put_child(parent, index, middle)
        self._put_child(middle, self._index(middle, child.prefix), self._lower(child, middle.end))
        self._arena.free(child.place, NODE_HEADER_WORDS + (1 << child.bits))
        return middle

    def _lower(self, node: Node, checked: int) -> Node:
        """The same node with fewer bits to skip."""
        fresh = self.make_node(node.prefix, checked, node.start, node.bits)
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
        node = self.make_node(first, parent.end, start, min(NODE_BITS, self._width - start))
        self._put_child(parent, index, node)
        for prefix in chain:
            self._insert(node, prefix)

    # --- Slots ------------------------------------------------------------------------------------------------------

    def _slots(self, node: Node) -> int:
        return node.place + (NODE_HEADER_WORDS if node.bits else 0)

    def _put_child(self, node: Node, index: int, child: Node) -> None:
        node.children[index] = child
        self._arena.halves[2 * (self._slots(node) + index)] = LPM_NODE | child.place

    def _drop_child(self, node: Node, index: int) -> None:
        del node.children[index]
        self._arena.halves[2 * (self._slots(node) + index)] = 0

    def _write_chain(self, node: Node, index: int, chain: list[Prefix]) -> None:
        following = 0
        for prefix in reversed(chain):
            self._link(prefix.number, following)
            following = prefix.number
        self._arena.halves[2 * (self._slots(node) + index)] = following

    def _covered(self, node: Node, value: int, length: int) -> tuple[slice, slice]:
        """The slots under a prefix: as indices, and as the halves of words where their best lies."""
        first = self._index(node, value)
        last = first + (1 << (node.end - length))
        start = 2 * self._slots(node)
        return slice(first, last), slice(start + 2 * first + 1, start + 2 * last, 2)

    def _cover(self, node: Node, prefix: Prefix) -> None:
        node.own[prefix.value, prefix.length] = prefix
        if node.lengths is None:
            node.lengths = np.zeros(1 << node.bits, np.uint8)
        indices, halves = self._covered(node, prefix.value, prefix.length)
        lengths = node.lengths[indices]
        shorter = lengths <= prefix.length - node.start
        self._arena.halves[halves][shorter] = prefix.number
        lengths[shorter] = prefix.length - node.start + 1

    def _uncover(self, node: Node, prefix: Prefix) -> None:
        del node.own[prefix.value, prefix.length]
        assert node.lengths is not None
        best = next(self._shorter(node, prefix), None)
        indices, halves = self._covered(node, prefix.value, prefix.length)
        lengths = node.lengths[indices]
        bared = lengths == prefix.length - node.start + 1
        self._arena.halves[halves][bared] = best.number if best is not None else 0
        lengths[bared] = best.length - node.start + 1 if best is not None else 0

    def _shorter(self, node: Node, prefix: Prefix) -> Iterator[Prefix]:
        """Shorter prefixes of the node that cover this one, longest first."""
        for length in range(prefix.length - 1, node.start - 1, -1):
            shift = self._width - length
            found = node.own.get((prefix.value >> shift << shift, length))
            if found is not None:
                yield found
