"""Compiled look-ups against match semantics said plainly: thousands of random, changing tables of all kinds."""

from __future__ import annotations

import random

import pytest

from emulator.switch.tables.mirror import Entry
from tests.labs.lookup_rig import LookupRig
from tests.oracles.match_model import RandomTable, best

SHAPES: list[list[tuple[str, int]]] = [
    [("exact", 32)],
    [("exact", 9), ("exact", 48)],
    [("exact", 128), ("exact", 32), ("exact", 16)],
    [("lpm", 32)],
    [("lpm", 7)],
    [("lpm", 64)],
    [("lpm", 65)],
    [("lpm", 128)],
    [("lpm", 200)],
    [("exact", 8), ("lpm", 32)],
    [("lpm", 24), ("exact", 70), ("exact", 9)],
    [("exact", 16), ("lpm", 128)],
    [("lpm", 16), ("lpm", 16)],
    [("ternary", 32)],
    [("ternary", 128), ("exact", 9)],
    [("ternary", 400), ("range", 20)],
    [("optional", 1)],
    [("optional", 48), ("lpm", 12), ("exact", 3)],
    [("range", 16)],
    [("range", 7), ("range", 40)],
    [("range", 70), ("ternary", 5)],
    [("range", 16), ("ternary", 32), ("lpm", 32), ("optional", 8), ("exact", 9)],
]


def run(shape: list[tuple[str, int]], seed: int, steps: int) -> None:
    kinds, widths = tuple(kind for kind, _ in shape), tuple(width for _, width in shape)
    source = random.Random(seed)
    table = RandomTable(kinds, widths, source)
    rig = LookupRig(kinds, widths, size=source.choice([16, 1024]))
    for step in range(steps):
        if table.entries and source.random() < 0.3:
            rig.remove(table.delete())
        elif (entry := table.insert()) is not None:
            rig.put(entry)
        if step % 8 == 7:
            entries = list(table.entries.values())
            for _ in range(8):
                question = table.question()
                assert rig.look_up(question) == best(kinds, entries, question), (seed, step, question)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "+".join(f"{kind}{width}" for kind, width in shape))
def test_small_tables(shape: list[tuple[str, int]]) -> None:
    for seed in range(100):
        run(shape, seed, steps=32)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "+".join(f"{kind}{width}" for kind, width in shape))
def test_larger_tables(shape: list[tuple[str, int]]) -> None:
    """Nodes split, words of positions split, the rows grow."""
    for seed in range(1000, 1002):
        run(shape, seed, steps=600)


@pytest.mark.parametrize(
    "shape",
    [[("exact", 48)], [("lpm", 32)], [("exact", 12), ("lpm", 128)], [("ternary", 32)]],
    ids=lambda shape: "+".join(f"{kind}{width}" for kind, width in shape),
)
def test_large_tables(shape: list[tuple[str, int]]) -> None:
    """More entries than one word of a summary tells of; half of them go again, and others come in their places."""
    kinds, widths = tuple(kind for kind, _ in shape), tuple(width for _, width in shape)
    source = random.Random(11)
    table = RandomTable(kinds, widths, source, most=20_000, pooled=0.1)
    rig = LookupRig(kinds, widths, size=20_000)
    for _ in range(20_000):
        if (entry := table.insert()) is not None:
            rig.put(entry)
    for _ in range(2):
        for entry in source.sample(list(table.entries.values()), len(table.entries) // 2):
            rig.remove(table.take(entry))
        for _ in range(1_000):
            if (entry := table.insert()) is not None:
                rig.put(entry)
        entries = list(table.entries.values())
        for _ in range(20):
            question = table.question()
            assert rig.look_up(question) == best(kinds, entries, question)


@pytest.mark.parametrize("width", [32, 128])
@pytest.mark.parametrize("seed", range(6))
def test_crowded_prefixes(width: int, seed: int) -> None:
    """All below a few, nested, neighbours and prefixes of each other: branches split, grow, empty, and get others above
    them."""
    source = random.Random(f"{width} {seed}")
    rig, ones = LookupRig(("lpm",), (width,), 512), (1 << width) - 1
    base, first = source.getrandbits(width), source.choice([0, 3, 9, 20])
    entries: dict[int, Entry] = {}
    for step in range(500):
        if len(entries) > 150 or (entries and source.random() < 0.25):
            rig.remove(entries.pop(source.choice(list(entries))))
        handle = next(n for n in range(1, 512) if n not in entries)
        length = min(width, source.choice([first, first + source.randrange(20), source.randrange(width + 1), width]))
        mask = ones ^ ones >> length
        value = (base ^ source.getrandbits(14) << max(0, width - first - source.choice([10, 14, 20, 60]))) & mask
        if all(e.keys != ((value, mask),) for e in entries.values()):
            entries[handle] = Entry(handle, ((value, mask),), 0, 0, (handle,))
            rig.put(entries[handle])
        if step % 10 == 9:
            for e in source.choices(list(entries.values()), k=6):
                question = (e.keys[0][0] ^ source.choice([0, 0, source.getrandbits(width - e.keys[0][1].bit_count())]),)
                assert rig.look_up(question) == best(("lpm",), list(entries.values()), question), (step, question)
