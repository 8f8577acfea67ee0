"""Look-ups that are prefetched for later packets: which can be, and that prefetching changes no result."""

from __future__ import annotations

import random

import pytest

from emulator.p4 import ir
from emulator.p4.llvm.prefetch import fixed_places, prefetched_tables
from emulator.p4.table_layout import Search, lay_out_table
from emulator.switch.control import Exact, Lpm, TableEntry
from emulator.switch.tables.flat_table import NEAR_BYTES
from tests.programs.keyed_table import SET, frame, match, table_program
from tests.programs.p4_programs import const, header_type, ref, run_both
from tests.programs.run import Piece, around

A = ir.Header("hdr.a", header_type("a_t", ("kind", 8), ("key", 16)))
B = ir.Header("hdr.b", header_type("b_t", ("key", 32)))
C = ir.Header("hdr.c", header_type("c_t", ("key", 8)))
V = ir.Header("hdr.v", header_type("v_t", ("key", 8), ("rest", ir.VarBits(64))))


def select(*cases: tuple[int, str], default: str = "accept") -> ir.Select:
    made = [ir.SelectCase((ir.Masked(value, 255),), name) for value, name in cases]
    return ir.Select((ref(A, "kind"),), (*made, ir.SelectCase((ir.Masked(0, 0),), default)))


def state(name: str, *body: ir.Statement, go: str | ir.Select = "accept") -> ir.State:
    return ir.State(name, body, ir.Goto(go) if isinstance(go, str) else go)


def test_headers_with_one_place_are_found() -> None:
    parser = ir.Parser(
        "P",
        (
            state("start", ir.Extract(A), go=select((1, "b"), (2, "v"))),
            state("b", ir.Extract(B), go="c"),
            state("v", ir.Extract(V, const(8, 32)), go="c"),
            state("c", ir.Extract(C)),
        ),
    )
    assert fixed_places(parser) == {"hdr.a": 0, "hdr.b": 24, "hdr.c": 56}


def test_headers_with_two_places_or_none_that_is_known_are_not() -> None:
    parser = ir.Parser(
        "P",
        (
            state("start", ir.Extract(A), go=select((1, "b"), (2, "c"))),
            state("b", ir.Extract(B), go="c"),
            state("c", ir.Extract(C), go="start"),
        ),
    )
    assert "hdr.c" not in fixed_places(parser)
    skipping = ir.Parser("P", (state("start", ir.Advance(ref(A, "kind")), ir.Extract(A)),))
    assert fixed_places(skipping) == {}


@pytest.mark.parametrize(("kind", "search"), [("exact", Search.EXACT), ("lpm", Search.LPM), ("ternary", Search.MASKED)])
def test_tables_over_headers_are_announced(kind: str, search: Search) -> None:
    program = table_program(kind, 32)
    layout = lay_out_table(program, program.tables[0], 0)
    assert layout.search is search
    parser, ingress = program.block("p"), program.block("ig")
    assert isinstance(parser, ir.Parser)
    assert isinstance(ingress, ir.Control)
    found = prefetched_tables(program, parser, ingress.body, {layout.name: layout})
    assert [(a.offsets_bits, a.reach_bytes) for a in found] == ([] if kind == "ternary" else [((0, 32), 5)])


CROWDED, SPREAD = 0xF0FF, -1
"""Bits of the keys, besides the first three, that differ: in crowded tries most entries lie deep."""


@pytest.mark.parametrize(
    ("kind", "width", "bits"),
    [("exact", 32, SPREAD), ("lpm", 32, CROWDED), ("lpm", 32, SPREAD), ("lpm", 128, CROWDED), ("lpm", 128, SPREAD)],
)
def test_announcing_changes_nothing(kind: str, width: int, bits: int) -> None:
    """A table large enough, frames of any length: what comes out is what the interpreter says."""
    source = random.Random(f"{kind}{width}")
    ones = (1 << width) - 1
    entries: dict[tuple[int, int], int] = {}
    while len(entries) * 32 <= NEAR_BYTES:
        length = width if kind == "exact" else source.choice([3, width // 2, width - 3, width])
        value = source.getrandbits(width) & bits & ones | source.getrandbits(3) << (width - 3)
        mask = ones ^ ones >> length
        entries[value & mask, mask] = len(entries)

    def prepare(switch) -> None:
        for (value, mask), parameter in entries.items():
            switch.insert_entry(1, TableEntry(match(kind, value, mask, width, 0), 0, SET, (parameter,)))

    frames = []
    for value, _ in source.choices(list(entries), k=60):
        whole = frame(value ^ source.choice([0, 0, 1, 2]), source.choice([0, 0, 1]), width)
        frames.append(whole[: source.choice([len(whole), source.randrange(1, len(whole))])])
    outcome = run_both(table_program(kind, width), frames, frames[:7], prepare=prepare, cells=64)
    assert sum(e.counter.packets for e in outcome.direct["Ingress.t"]) > 10


def test_a_key_that_changes_after_it_was_announced_is_looked_up_again() -> None:
    """Exact keys beside the lpm key; a packet whose key is rewritten on the way, and one that isn't."""
    table = """action hit(bit<32> number) { hdr.given.d = number; }
    table t {
        key = { hdr.given.a: exact; hdr.given.b: lpm; }
        actions = { hit; }
        default_action = hit(999);
        size = 4096;
    }"""
    piece = Piece(around("if (hdr.given.c == 1) { hdr.given.b = b ^ 0x100; } t.apply(); p = hdr.given.d;", local=table))
    entries = {(a, b << 8): a << 16 | b for a in range(4) for b in range(200)}
    for rig in piece.rigs.values():
        assert rig.switch.program is not None
        (view,) = rig.switch.program.view.tables
        for (a, b), number in entries.items():
            rig.switch.insert_entry(view.id, TableEntry((Exact(1, a), Lpm(2, b, 24)), 0, view.actions[0].id, (number,)))
    assert [piece(3, b << 8 | 5, c)[0] for b, c in ((7, 0), (7, 1), (199, 0), (200, 0), (200, 1))] == [
        3 << 16 | 7, 3 << 16 | 6, 3 << 16 | 199, 999, 999,
    ]  # fmt: skip
    assert piece(4, 0x700)[0] == 999
