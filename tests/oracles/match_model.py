"""Match semantics said plainly (bmv2's rules), random tables, and random questions that tend to hit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from emulator.switch.tables.mirror import Entry
from emulator.v1model.control_view import KeyParts

WITH_PRIORITY = ("ternary", "range", "optional")


def matches(kinds: Sequence[str], keys: KeyParts, values: Sequence[int]) -> bool:
    for kind, (first, second), value in zip(kinds, keys, values, strict=True):
        if kind == "range":
            if not first <= value <= second:
                return False
        elif value & second != first:
            return False
    return True


def rank(kinds: Sequence[str], entry: Entry) -> tuple[int, int]:
    """With priorities the larger wins, else the longer prefix; then the smaller handle."""
    if any(kind in WITH_PRIORITY for kind in kinds):
        return entry.priority, -entry.handle
    lengths = (mask.bit_count() for (_, mask), kind in zip(entry.keys, kinds, strict=True) if kind == "lpm")
    return sum(lengths), -entry.handle


def best(kinds: Sequence[str], entries: Sequence[Entry], values: Sequence[int]) -> int:
    """Handle of the entry that a packet with these values takes, 0 if none."""
    found = [entry for entry in entries if matches(kinds, entry.keys, values)]
    return max(found, key=lambda entry: rank(kinds, entry)).handle if found else 0


@dataclass
class RandomTable:
    """Entries that come and go; keys are drawn from small pools, so that they overlap."""

    kinds: tuple[str, ...]
    widths: tuple[int, ...]
    source: random.Random
    most: int = 400
    pooled: float = 0.8
    """How many of the keys' values are from the pools."""
    entries: dict[tuple[KeyParts, int], Entry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._free = list(range(self.most, 0, -1))
        self._pools = [self._pool(width) for width in self.widths]

    def _pool(self, width: int) -> list[int]:
        draw = self.source
        pool = [0, 1, (1 << width) - 1] + [draw.getrandbits(width) for _ in range(3)]
        return pool + [value ^ 1 << draw.randrange(width) for value in pool for _ in range(2)]

    def some_entry(self) -> Entry:
        return self.source.choice(list(self.entries.values()))

    def insert(self) -> Entry | None:
        """A new entry, or None when the table is full or has this one."""
        keys = tuple(self._key(i) for i in range(len(self.kinds)))
        priority = self.source.randrange(5)
        if not any(kind in WITH_PRIORITY for kind in self.kinds):
            priority = sum(mask.bit_count() for (_, mask), kind in zip(keys, self.kinds, strict=True) if kind == "lpm")
        if (keys, priority) in self.entries or not self._free:
            return None
        entry = Entry(self._free.pop(), keys, priority, 0, (0,))
        self.entries[keys, priority] = entry
        return entry

    def delete(self) -> Entry:
        return self.take(self.some_entry())

    def take(self, entry: Entry) -> Entry:
        """Out of the table; its handle is free again."""
        del self.entries[entry.keys, entry.priority]
        self._free.append(entry.handle)
        other = self.source.randrange(len(self._free))
        self._free[-1], self._free[other] = self._free[other], self._free[-1]
        return entry

    def _key(self, index: int) -> tuple[int, int]:
        draw, kind, width = self.source, self.kinds[index], self.widths[index]
        ones = (1 << width) - 1
        value = draw.choice(self._pools[index]) if draw.random() < self.pooled else draw.getrandbits(width)
        if kind == "range":
            other = draw.choice([value, ones, draw.getrandbits(width), min(ones, value + 3)])
            return min(value, other), max(value, other)
        mask = {
            "exact": ones,
            "optional": draw.choice([ones, 0]),
            "lpm": ones ^ ones >> draw.choice([0, 1, width // 2, width - 1, width, draw.randrange(width + 1)]),
            "ternary": draw.choice([ones, 0, draw.getrandbits(width), ones ^ ones >> draw.randrange(width + 1)]),
        }[kind]
        return value & mask, mask

    def question(self) -> tuple[int, ...]:
        """Values of a packet."""
        draw = self.source
        values = [
            draw.choice(p) if draw.random() < 0.8 else draw.getrandbits(w)
            for p, w in zip(self._pools, self.widths, strict=True)
        ]
        if self.entries and draw.random() < 0.5:
            for i, (first, second) in enumerate(self.some_entry().keys):
                near = draw.choice([first, second, max(0, first - 1), min((1 << self.widths[i]) - 1, second + 1)])
                values[i] = near if self.kinds[i] == "range" else values[i] & ~second | first
        return tuple(values)
