"""Tables that change between batches: look-ups begun ahead of their packets see what the interpreter sees."""

from __future__ import annotations

import random

import pytest

from emulator.switch.control import TableEntry
from emulator.switch.tables.flat_table import NEAR_BYTES
from tests.programs.keyed_table import SET, frame, match, table_program
from tests.programs.p4_programs import Rig

ENTRIES, ROUNDS, CHANGES, FRAMES = 5 * NEAR_BYTES // 4 // 64, 5, 40, 60
"""Enough entries for look-ups to be begun ahead."""
CROWDED, SPREAD = 16, 0
"""Bits of the keys' upper half that are the same for all: where they crowd, searches go deep."""


class Pair:
    """One program on both engines, told the same."""

    def __init__(self, kind: str, width: int, shared: int, has_port: bool) -> None:
        self.source = random.Random(f"{kind} {width} {shared} {has_port}")
        self.kind, self.width, self.shared, self.has_port = kind, width, shared, has_port
        program = table_program(kind, width, has_port=has_port)
        self.rigs = [Rig(program, engine) for engine in ("interpreter", "llvm")]
        self.inside: dict[tuple[int, int, int], None] = {}

    def key(self) -> int:
        """In half of the cases below 001, where roots of 128 bits have their slots."""
        value = self.source.getrandbits(self.width) >> self.shared
        return value & ~(7 << (self.width - 3)) | self.source.choice([1, 1, 1, 0, 7]) << (self.width - 3)

    def insert(self) -> None:
        lengths = (0, 3, self.width // 2, self.width - 8, self.width - 8, self.width - 5, self.width)
        length = self.width if self.kind == "exact" else self.source.choice(lengths)
        mask = (1 << self.width) - (1 << (self.width - length))
        entry = self.key() & mask, mask, self.source.randrange(3) if self.has_port else 0
        if entry not in self.inside:
            self.inside[entry] = None
            for rig in self.rigs:
                rig.switch.insert_entry(1, self.entry(entry))

    def delete(self) -> None:
        entry = self.source.choice(list(self.inside))
        del self.inside[entry]
        for rig in self.rigs:
            rig.switch.delete_entry(1, self.entry(entry))

    def entry(self, key: tuple[int, int, int]) -> TableEntry:
        value, mask, port = key
        found = match(self.kind, value, mask, self.width, port)
        return TableEntry(found if self.has_port else found[:-1], 0, SET, (hash(key) & 0xFFFF_FFFF,))

    def compare(self) -> None:
        known = self.source.choices(list(self.inside), k=FRAMES)
        frames = []
        for value, mask, port in known:
            inside = value | self.source.getrandbits(self.width) & ~mask & (1 << self.width) - 1
            frames.append(frame(self.source.choice([inside, inside, inside, self.key()]), port, self.width))
        interpreted, compiled = (rig.run(*frames) for rig in self.rigs)
        assert compiled == interpreted


@pytest.mark.parametrize(
    ("kind", "width", "shared", "has_port"),
    [
        ("exact", 32, SPREAD, False),
        ("lpm", 32, SPREAD, False),
        ("lpm", 32, SPREAD, True),
        ("lpm", 32, CROWDED, False),
        ("lpm", 128, SPREAD, False),
        ("lpm", 128, CROWDED, False),
        ("lpm", 128, CROWDED, True),
    ],
)
def test_batches_between_writes(kind: str, width: int, shared: int, has_port: bool) -> None:
    pair = Pair(kind, width, shared, has_port)
    for _ in range(ENTRIES):
        pair.insert()
    for _ in range(ROUNDS):
        pair.compare()
        for _ in range(CHANGES):
            pair.source.choice([pair.insert, pair.delete])()
    pair.compare()
    interpreted, compiled = (list(rig.switch.entries(1)) for rig in pair.rigs)
    assert compiled == interpreted, "direct counters went with their entries"
