"""Multibit tries over prefixes in flat memory: what lpm tables search (layout: ``emulator.p4.table_layout``).

A trie's nodes are a root and branches. At the top is a root with many slots (``root``), or a branch (``branch``) for
the key's first bits. From one of its slots there is nothing, or a branch, or a chain: up to ``CHAIN`` prefixes,
longest first, each compared whole. A longer chain becomes a branch, which skips the bits that all its prefixes share.
A prefix that leaves these bits has the branch made anew if it is small, else it gets one above, which ends where the
other begins. A prefix that ends among a branch's bits belongs to it; branches below are left alone, for a search
remembers the best on its way down. So a change writes one branch or a root's slot, whatever the trie's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from emulator.p4.table_layout import BRANCH_BITS
from emulator.switch.tables.lpm.branch import PARTS, Branch, Chain, Child, Prefix, length_of
from emulator.switch.tables.lpm.branches import Branches

CHAIN = 2
"""Longest chain: the second entry is as far from the slot as any entry of a branch is."""
FEW = 16
"""Most prefixes of a branch that is made anew rather than split."""


class Root(Protocol):
    """Root of a trie: the first bits of a key select its slot."""

    @property
    def end(self) -> int:
        """Number of these bits."""
        ...

    def goes_on(self, prefix: Prefix) -> bool:
        """Whether the prefix may lie below; one that ends here may where a slot's chain has room."""
        ...

    def part(self, value: int) -> int:
        """The key's first bits, as a number."""
        ...

    def child(self, part: int) -> Child:
        """What the slot leads to."""
        ...

    def put_child(self, part: int, child: Child) -> None:
        """Replace what the slot leads to; prefixes that leave it for a branch are home already."""
        ...

    def cover(self, prefix: Prefix) -> None:
        """Add a prefix of at most ``end`` bits."""
        ...

    def uncover(self, prefix: Prefix) -> None: ...


class Trie:
    """A trie that prefixes are inserted into and removed from."""

    def __init__(self, branches: Branches, top: Root | Branch) -> None:
        self._branches = branches
        self._width = branches.keys.width
        self.top = top

    # --- Changes ----------------------------------------------------------------------------------------------------

    def insert(self, prefix: Prefix) -> None:
        """Insert a prefix whose entry lies at home."""
        node = self.top
        while node.goes_on(prefix):
            part = node.part(prefix.value)
            child = node.child(part)
            if not isinstance(child, Branch):
                self._put_longer(node, part, [*(child or ()), prefix])
                return
            if prefix.length == node.end:
                break
            shared = self._shared([prefix], child.prefix)
            if shared >= child.start:
                node = child
            elif (few := child.prefixes(FEW)) is not None:
                self._put(node, part, self._make_branch([*few, prefix]))
                self._branches.free(child)
                return
            else:
                node = self._insert_above(node, part, child, shared)
        self._cover(node, prefix)

    def remove(self, prefix: Prefix) -> None:
        """Remove an inserted prefix; the entry's current place and its home place are free afterwards."""
        path: list[tuple[Root | Branch, int]] = []
        node = self.top
        while node.goes_on(prefix):
            part = node.part(prefix.value)
            child = node.child(part)
            if isinstance(child, Branch) and prefix.length > node.end:
                path.append((node, part))
                node = child
                continue
            if not isinstance(child, Branch) and child is not None and prefix in child:
                self._put(node, part, [p for p in child if p is not prefix] or None)
                break
            self._uncover(node, prefix)
            break
        else:
            self._uncover(node, prefix)
        while isinstance(node, Branch) and node.is_empty and path:
            self._branches.free(node)
            node, part = path.pop()
            self._put(node, part, None)

    # --- Nodes ------------------------------------------------------------------------------------------------------

    def _cover(self, node: Root | Branch, prefix: Prefix) -> None:
        if isinstance(node, Branch):
            self._branches.write(node, node.with_own(prefix))
        else:
            node.cover(prefix)

    def _uncover(self, node: Root | Branch, prefix: Prefix) -> None:
        if isinstance(node, Branch):
            self._branches.write(node, node.without_own(prefix))
        else:
            node.uncover(prefix)

    def _put_longer(self, node: Root | Branch, part: int, prefixes: list[Prefix]) -> None:
        """Replace the slot's chain by these; one that ends at this node does not go into a branch below."""
        if len(prefixes) > CHAIN:
            ending = next((p for p in prefixes if p.length == node.end), None)
            if ending is not None:
                prefixes.remove(ending)
                self._branches.send_home(ending)
                self._put(node, part, self._join(prefixes))
                self._cover(node, ending)
                return
        self._put(node, part, self._join(prefixes))

    def _put(self, node: Root | Branch, part: int, child: Child) -> None:
        if isinstance(node, Branch):
            self._branches.write(node, node.with_child(part, child))
        else:
            node.put_child(part, child)

    def _shared(self, prefixes: Sequence[Prefix], value: int) -> int:
        """Number of leading bits that the prefixes share with the value, less than the length of each."""
        width = self._width
        return min(min(width - (p.value ^ value).bit_length(), p.length - 1) for p in prefixes)

    def _join(self, prefixes: list[Prefix]) -> Chain | Branch:
        """Chain or branch of these longer prefixes."""
        if len(prefixes) > CHAIN:
            return self._make_branch(prefixes)
        return sorted(prefixes, key=length_of, reverse=True)

    def _make_branch(self, prefixes: list[Prefix]) -> Branch:
        value = prefixes[0].value
        start = self._shared(prefixes, value)
        own: list[Prefix] = []
        longer: dict[int, list[Prefix]] = {}
        for prefix in sorted(prefixes, key=length_of, reverse=True):
            self._branches.send_home(prefix)
            some = longer.setdefault(self._part(prefix.value, start), [])
            if prefix.length < start + BRANCH_BITS or (prefix.length == start + BRANCH_BITS and len(some) >= CHAIN):
                own.append(prefix)
            else:
                some.append(prefix)
        children = {part: self._join(some) for part, some in longer.items() if some}
        return self._branches.make(value, start, own, children)

    def _insert_above(self, parent: Root | Branch, part: int, child: Branch, shared: int) -> Branch:
        """A new branch above the child, for prefixes that share only ``shared`` of its bits."""
        start = child.start - -(-(child.start - shared) // BRANCH_BITS) * BRANCH_BITS
        above = self._branches.make(child.prefix, start, (), {self._part(child.prefix, start): child})
        self._put(parent, part, above)
        return above

    def _part(self, value: int, start: int) -> int:
        """Part of the value in a branch whose prefixes share ``start`` bits."""
        shift = self._width - start - BRANCH_BITS
        return (value >> shift if shift >= 0 else value << -shift) & (PARTS - 1)
