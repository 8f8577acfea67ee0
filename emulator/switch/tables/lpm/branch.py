"""Branches, the nodes of multibit tries below the root: their parts and slots (layout: ``emulator.p4.table_layout``).

A branch has ``PARTS`` parts, one for each value of the key's ``BRANCH_BITS`` bits after the branch's own prefix.
Prefixes that end there cover parts ("own"); longer ones go on from one part, to a chain or another branch.
Neighbouring parts with the same best prefix and nothing longer share a slot, and slots lie side by side, so a branch
of a few prefixes is a few entries large. In a slot lies the first entry of its chain, or its best prefix, if that has
no slot yet; so most searches end in the slot.

Prefixes are Python numbers of the key's full width; positions count bits from the most significant one. Nothing here
touches memory: that is ``branches``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from emulator.p4.table_layout import BRANCH_BITS

PARTS = 1 << BRANCH_BITS


@dataclass(slots=True, eq=False)
class Prefix:
    """``value`` has zeros beyond the prefix."""

    home: int
    """Number of the entry's own place."""
    value: int
    length: int
    number: int
    """Number of the entry where it lies now."""
    stays: bool = False
    """The entry is not moved from its own place, for it belongs to two tries."""


Chain: TypeAlias = list[Prefix]
"""Prefixes of one slot, at least one, the longest first. Chains are replaced, not changed."""
Child: TypeAlias = "Branch | Chain | None"
Run: TypeAlias = tuple[int, Child, Prefix | None, Prefix | None]
"""A slot: the first part, what goes on from there, the best of the branch's own prefixes, what lies in the slot. Of
parts from which something goes on each has a slot of its own."""
Change: TypeAlias = Callable[[Child, "Prefix | None"], tuple[Child, "Prefix | None"]]
"""Function of a part's child and best prefix; returns the new ones."""


@dataclass(slots=True, eq=False)
class Branch:
    prefix: int
    start: int
    """Number of leading bits of ``prefix`` that all prefixes below share; the next ones select a part."""
    shift: int
    """Number of bits of the key after the branch's; negative where it reaches beyond the key's end."""
    own: list[Prefix] = field(default_factory=list)
    """Prefixes that end within the branch: longer than ``start`` (but for length 0 at the top), shorter than ``end``,
    the shortest first; also those of length ``end`` for which a slot's chain has no room."""
    runs: list[Run] = field(default_factory=list)
    """The slots as last written."""
    bitmap: int = 0
    place: int = 0
    """Number of the first slot."""
    room: int = 0
    number: int = 0
    """Number of the slot that leads here; 0 if what leads here is not a slot, or not yet written."""

    @property
    def end(self) -> int:
        return self.start + BRANCH_BITS

    @property
    def is_empty(self) -> bool:
        return not self.own and all(child is None for _, child, _, _ in self.runs)

    def part(self, value: int) -> int:
        return (value >> self.shift if self.shift >= 0 else value << -self.shift) & (PARTS - 1)

    def goes_on(self, prefix: Prefix) -> bool:
        return prefix.length >= self.end

    def parts(self, prefix: Prefix) -> tuple[int, int]:
        """Range of the parts that one of its own prefixes covers: the first, and the one after the last."""
        first = self.part(prefix.value)
        return first, first + (1 << (self.end - prefix.length))

    def child(self, part: int) -> Child:
        return self.runs[self._rank(part)][1]

    def prefixes(self, most: int) -> list[Prefix] | None:
        """All prefixes below; None if there are more than ``most``, or if there are branches."""
        found = list(self.own)
        for _, child, _, _ in self.runs:
            if isinstance(child, Branch):
                return None
            found += child or ()
        return found if len(found) <= most else None

    def _rank(self, part: int) -> int:
        """Position among the branch's slots of the slot for a part."""
        return (self.bitmap & (2 << part) - 1).bit_count() - 1

    # --- Changes: the new slots -------------------------------------------------------------------------------------

    def with_child(self, part: int, child: Child) -> list[Run]:
        return self._changed(part, part + 1, lambda _, best: (child, best))

    def with_own(self, prefix: Prefix) -> list[Run]:
        """Slots with this prefix of its own added; ``own`` has it from now on."""
        self.own.append(prefix)
        self.own.sort(key=length_of)

        def cover(child: Child, best: Prefix | None) -> tuple[Child, Prefix | None]:
            return child, prefix if best is None or best.length <= prefix.length else best

        return self._changed(*self.parts(prefix), cover)

    def without_own(self, prefix: Prefix) -> list[Run]:
        """Slots without this prefix of its own; ``own`` lacks it from now on."""
        self.own.remove(prefix)
        first, last = self.parts(prefix)
        instead: Prefix | None = None
        for other in self.own:
            start, end = self.parts(other)
            if start <= first and last <= end:
                instead = other  # the last one is the longest
        return self._changed(first, last, lambda child, best: (child, instead if best is prefix else best))

    def _changed(self, first: int, last: int, change: Change) -> list[Run]:
        """Slots with ``change`` applied to the parts from ``first`` to before ``last``."""
        runs = self.runs
        low, high = self._rank(first), self._rank(last - 1) + 1
        end = runs[high][0] if high < len(runs) else PARTS
        pieces = [runs[low]] if runs[low][0] < first else []
        for part, child, best, _ in runs[low:high]:
            _append(pieces, max(part, first), *change(child, best))
        if last < end:
            _append(pieces, last, None, runs[high - 1][2])
        if low > 0 and _joins(runs[low - 1], pieces[0]):
            del pieces[0]
        if high < len(runs) and _joins(pieces[-1] if pieces else runs[low - 1], runs[high]):
            high += 1
        return _placed([*runs[:low], *pieces, *runs[high:]], self.own)


def length_of(prefix: Prefix) -> int:
    return prefix.length


def runs_of(branch: Branch, children: Mapping[int, Child]) -> list[Run]:
    """Runs of a branch with its own prefixes and these children."""
    bests: list[Prefix | None] = [None] * PARTS
    for prefix in branch.own:
        first, last = branch.parts(prefix)
        bests[first:last] = [prefix] * (last - first)
    runs: list[Run] = []
    for part, best in enumerate(bests):
        _append(runs, part, children.get(part), best)
    return _placed(runs, branch.own)


def _append(runs: list[Run], part: int, child: Child, best: Prefix | None) -> None:
    """One more, unless the last one holds for it as well."""
    if child is not None or not runs or runs[-1][1] is not None or runs[-1][2] is not best:
        runs.append((part, child, best, child[0] if isinstance(child, list) else None))


def _joins(run: Run, following: Run) -> bool:
    """Does it hold for the following parts as well?"""
    return run[1] is None and following[1] is None and run[2] is following[2]


def _placed(runs: list[Run], own: Sequence[Prefix]) -> list[Run]:
    """With the branch's own prefixes in the first slots where they are the best."""
    if own:
        left = {prefix for prefix in own if not prefix.stays}
        for at, (part, child, best, inside) in enumerate(runs):
            if child is None:
                here = best if best in left else None
                left.discard(here)
                if here is not inside:
                    runs[at] = part, None, best, here
    return runs


def same(before: Sequence[Run], runs: Sequence[Run]) -> tuple[int, int]:
    """How many runs are the same at the beginning, and at the end: the same objects where nothing has happened."""
    fewest = min(len(before), len(runs))
    head = 0
    while head < fewest and before[head] is runs[head]:
        head += 1
    tail, left = 0, fewest - head
    while tail < left and before[-1 - tail] is runs[-1 - tail]:
        tail += 1
    return head, tail
