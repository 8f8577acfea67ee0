"""How a match table lies in memory: one description for the compiled look-up and for what fills it.

Three structures, by what the keys are (``TableLayout.search``):

* exact: a hash table whose slots are the entries themselves, keys included; pair after pair is searched, and two small
  entries share a cache line, so most searches read one.
* lpm (one lpm key, the others exact): a multibit trie over the lpm key. Its nodes are a root, indexed by the key's
  first bits, and branches, indexed by ``BRANCH_BITS`` bits below; its leaves are chains of entries, longest prefix
  first. The slots of a node are entries too, each the first of its chain, and the slot that leads to a branch holds a
  bitmap that says where each of the branch's slots lies: so most searches read one place, or two. With other keys,
  one trie for each of their values, found by hash.
* masked (anything else): for each byte of the keys and each of its values a row of bits, one bit for each entry that
  admits this value; the rows that a packet selects are ANDed.

An entry's number is its place in the table's entries; number 0 is the default action, so a look-up answers 0 on a miss.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from emulator.p4 import ir
from emulator.p4.layout import CACHE_LINE_BYTES, WORD_BYTES, Cell, pack_cells, round_up, width_of

WORD_BITS = 64
WORD_MASK = 0xFFFF_FFFF_FFFF_FFFF

# A table's record in the table area, in words.
TABLE_ENTRIES = 0
"""Address of the entries."""
TABLE_SLOT_MASK = 1
"""Exact, and lpm with other keys: number of slots - 1; a power of two."""
TABLE_SLOTS = 2
"""Lpm with other keys: address of the slots that lead to tries."""
TABLE_OUTSIDE = 3
"""Lpm without other keys: the branch (two words, as in ``PREFIX_SLOT_PLACE``) that the keys outside the root begin
with."""
TABLE_ROWS = 5
"""Masked: address of the rows."""
TABLE_BLOCKS = 6
"""Masked: number of blocks in use."""
TABLE_ROW_BYTES = 7
TABLE_BLOCKS_AT = 8
"""Masked: where the blocks begin in a row, in bytes; the summary comes first."""
TABLE_POSITIONS = 9
"""Masked: address of what each bit of a row stands for."""
TABLE_BLOCK_RANKS = 10
"""Masked: address of a u64 for each block, the best rank in it; a block that can't be better isn't looked at."""
TABLE_IS_LARGE = 11
"""Flag, not 0 when the entries are more than the nearer caches hold, so that look-ups are worth prefetching."""
TABLE_IS_DEEP = 14
"""Lpm: not 0 when moreover many entries lie beyond the first place that a search reads, so that searches are worth
doing ahead."""
TABLE_SHIFT = 12
"""Exact: the hash, and lpm without other keys: what follows the shared bits of the key, shifted right by this is the
slot, and entry slot + SLOTS_FROM lies there."""
TABLE_BESTS = 13
"""Lpm without other keys: address of a u32 for each slot of the root, as LPM_BEST."""
TABLE_WORDS = 16

# An entry, in bytes. What follows the header depends on the search, then come the action's parameters, then whatever
# `TableLayout` says the table has besides.
ENTRY_ACTION = 0
"""u32, index into the table's actions, or NOTHING_RUN. In a slot that leads to a branch: the longest of the prefixes
above that end at this slot's own branch and cover it, 0 if none does."""
ENTRY_HANDLE = 4
"""u32, in exact tables: the control plane's number of the entry, from 1; 0 in a free slot."""
ENTRY_NEXT = 4
"""u32, in lpm tables: the next entry of the chain, 0 at its end. Also the first slot of a branch (LPM_BRANCH), and then
the slot holds the branch's prefix instead of an entry's; or what matches where nothing in the chain does (LPM_SURE),
and a slot without a chain holds a prefix that no key has which comes there."""
ENTRY_HEADER_BYTES = 8

SLOTS_FROM = 2
"""Number of the entry in slot 0; an even one, so that pairs of small entries share a cache line."""

NOTHING_RUN = 0xFFFF_FFFF
"""Number of the action that runs on a miss of a table with an action profile, and for an empty group."""

# What an entry of a table with an action profile leads to: the word at ``TableLayout.members`` is the address of
MEMBERS_COUNT = 0
"""u64: number of choices; 0 runs nothing."""
MEMBERS_RECORDS = 8
"""u64: address of that many records of ``entry_bytes``, with action and parameters where an entry has them."""
MEMBERS_BYTES = 16

# A slot that leads to a trie (lpm with other keys), in words; the other keys' words follow.
PREFIX_SLOT_PLACE = 0
"""Number of the entry that is the first slot of the trie's first branch; 0 in a free slot."""
PREFIX_SLOT_BITMAP = 1
"""As ``TableLayout.branch_bitmap``."""
PREFIX_SLOT_HEADER_WORDS = 2

BRANCH_BITS = 6
"""A branch, a node of the trie below its root, is indexed by this many bits: it has a part for each of their values.
Neighbouring parts that lead to the same share one slot; the slots lie side by side in ascending order, and a bitmap of
one word has a bit for each part that begins a slot."""
LPM_BRANCH = 0x8000_0000
LPM_SURE = 0x4000_0000

IPV6_BITS, SHARED_BITS, SHARED = 128, 3, 1
"""Routes of the internet all lie under 2000::/3 (RFC 4291, section 2.4): their first bits tell none apart, so a root of
128-bit keys holds what begins with these."""

# A bit's meaning (masked), in bytes: bit i of word w is position 64 * w + i. Within a word ranks fall.
POSITION_RANK = 0
"""u64: priority, then smaller handle, never 0."""
POSITION_ENTRY = 8
"""u64."""
POSITION_HEADER_BYTES = 16
"""The bounds of range keys follow, low and high of each."""

BLOCK_WORDS = 4
"""Rows are read in blocks of so many words; a row begins with a summary, one bit for each word that is not 0."""
CHUNK_BITS = 8

HASH_MULTIPLIER = 0x9E3779B97F4A7C15
"""2**64 divided by the golden ratio, made odd: spreads neighbouring keys (Knuth, volume 3, section 6.4)."""


def first_slot(words: tuple[int, ...], shift: int) -> int:
    """Exact: where a search for a key begins, the upper bits of a product (Knuth, volume 3, section 6.4)."""
    *others, last = words
    return ((hash_words(tuple(others)) ^ last) * HASH_MULTIPLIER & WORD_MASK) >> shift


def slot_after(home: int, steps: int, mask: int) -> int:
    """Exact: where a search is after some steps: at its first slot, at the other one of that pair, then in the pairs
    that follow, in the same order."""
    return ((home & ~1) + (steps & ~1) & mask) | ((home ^ steps) & 1)


def steps_to(home: int, slot: int, mask: int) -> int:
    """Exact: how many steps a search takes to this slot."""
    return ((slot & ~1) - (home & ~1) & mask) | ((slot ^ home) & 1)


def hash_words(words: tuple[int, ...]) -> int:
    """The hash that compiled look-ups compute over key words."""
    value = 0
    for word in words:
        value = ((value ^ word) * HASH_MULTIPLIER) & WORD_MASK
        value ^= value >> 32
    return value


class Search(Enum):
    EXACT = "exact"
    LPM = "lpm"
    MASKED = "masked"


@dataclass(frozen=True, slots=True)
class ActionLayout:
    """An action as a table's entry holds it."""

    name: str
    parameters: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Part of a key that selects a row: ``(key >> shift) & (2**bits - 1)``."""

    position: int
    """Among the match keys."""
    shift: int
    bits: int
    first_row: int


@dataclass(frozen=True, slots=True)
class RangeKey:
    """A range key's place among the match keys, and where a position holds its bounds, both included."""

    position: int
    low: Cell
    high: Cell


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Shapes and sizes of one table's memory, and its number in the table area."""

    name: str
    number: int
    size: int
    """Entries it is declared for."""
    key_widths_bits: tuple[int, ...]
    """Widths of the match keys; selector keys do not match."""
    match_kinds: tuple[str, ...]
    actions: tuple[ActionLayout, ...]
    entry_bytes: int
    counter: int | None
    """Offset of {u64 packets, u64 bytes}; tables with a direct counter."""
    last_hit: int | None
    """Offset of a u64, the time of the last hit in ns; tables with support_timeout."""
    attached: int | None
    """Offset of what the architecture keeps for each entry (v1model: the cell of a direct meter)."""
    members: int | None
    """Offset of the address of what the entry leads to; tables with an action profile."""

    @property
    def search(self) -> Search:
        return search_of(self.match_kinds)

    @property
    def order(self) -> tuple[int, ...]:
        """Positions of the keys as they are packed: an lpm key comes last."""
        return tuple(sorted(range(len(self.match_kinds)), key=lambda i: self.match_kinds[i] == "lpm"))

    @property
    def key_bits(self) -> int:
        return sum(self.key_widths_bits)

    @property
    def key_words(self) -> int:
        """Exact: packed keys cut into words, least significant first."""
        return max(1, -(-self.key_bits // WORD_BITS))

    @property
    def lpm_bits(self) -> int:
        """Width of the lpm key."""
        return next(w for w, kind in zip(self.key_widths_bits, self.match_kinds, strict=True) if kind == "lpm")

    @property
    def lpm_words(self) -> int:
        """Its words, most significant first; the key begins at the top of the first word."""
        return -(-self.lpm_bits // WORD_BITS)

    @property
    def shared_bits(self) -> int:
        """Lpm: first bits of the key that the root of the one trie takes for granted."""
        return SHARED_BITS if self.lpm_bits == IPV6_BITS else 0

    @property
    def has_root(self) -> bool:
        """Is there one trie, whose root's slots are entries?"""
        return self.search is Search.LPM and not self.other_words

    @property
    def other_words(self) -> int:
        """Lpm: words of the other keys, packed; 0 if there are none."""
        return -(-(self.key_bits - self.lpm_bits) // WORD_BITS)

    @property
    def branch_start(self) -> int:
        """Lpm: offset of a u32 in a slot that leads to a branch, the key's bit at which its slots are told apart."""
        return _branch_fields(self.match_kinds, self.key_widths_bits)[0]

    @property
    def branch_bitmap(self) -> int:
        """Lpm: offset of a u64 in such a slot, with a bit for every part that begins a slot."""
        return _branch_fields(self.match_kinds, self.key_widths_bits)[1]

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        found, row = [], 0
        for position, width in enumerate(self.key_widths_bits):
            for shift in range(0, width, CHUNK_BITS):
                bits = min(CHUNK_BITS, width - shift)
                found.append(Chunk(position, shift, bits, row))
                row += 1 << bits
        return tuple(found)

    @property
    def row_count(self) -> int:
        return sum(1 << chunk.bits for chunk in self.chunks)

    @property
    def ranges(self) -> tuple[RangeKey, ...]:
        return _range_keys(self.key_widths_bits, self.match_kinds)[0]

    @property
    def position_bytes(self) -> int:
        return _range_keys(self.key_widths_bits, self.match_kinds)[1]

    def pack(self, values: tuple[int, ...], positions: tuple[int, ...]) -> int:
        """Values of some keys, the first most significant."""
        packed = 0
        for position in positions:
            packed = packed << self.key_widths_bits[position] | values[position]
        return packed


def search_of(kinds: tuple[str, ...]) -> Search:
    if all(kind == "exact" for kind in kinds):
        return Search.EXACT
    if kinds.count("lpm") == 1 and all(kind in ("exact", "lpm") for kind in kinds):
        return Search.LPM
    return Search.MASKED


def words_of(packed: int, count: int) -> tuple[int, ...]:
    """A packed key's words, least significant first."""
    return tuple(packed >> (WORD_BITS * i) & WORD_MASK for i in range(count))


def key_bytes(kinds: tuple[str, ...], widths_bits: tuple[int, ...]) -> int:
    """What an entry holds of its keys, after the header. Exact: the key's words. Lpm: the prefix's words, then
    words with ones where it ends; a prefix of one word instead has a u16 after it, how far to shift what isn't compared
    out of the word. So an entry of zeros compares the whole key."""
    match search_of(kinds):
        case Search.EXACT:
            return max(1, -(-sum(widths_bits) // WORD_BITS)) * WORD_BYTES
        case Search.LPM:
            width = next(w for w, kind in zip(widths_bits, kinds, strict=True) if kind == "lpm")
            return WORD_BYTES + 2 if width <= WORD_BITS else 2 * -(-width // WORD_BITS) * WORD_BYTES
        case Search.MASKED:
            return 0


ENTRY_KEY = ENTRY_HEADER_BYTES
ENTRY_SHIFT = ENTRY_KEY + WORD_BYTES

PROFILES = ("action_profile", "action_selector")


def _branch_fields(kinds: tuple[str, ...], widths_bits: tuple[int, ...]) -> tuple[int, int]:
    start = round_up(ENTRY_HEADER_BYTES + key_bytes(kinds, widths_bits), 4)
    return start, round_up(start + 4, WORD_BYTES)


def least_bytes(kinds: tuple[str, ...], widths_bits: tuple[int, ...]) -> int:
    """Least size of an entry: header, keys, in lpm tables the link to a branch (in the parameters' place)."""
    if search_of(kinds) is Search.LPM:
        return _branch_fields(kinds, widths_bits)[1] + WORD_BYTES
    return ENTRY_HEADER_BYTES + key_bytes(kinds, widths_bits)


def lay_out_table(program: ir.Program, table: ir.Table, number: int, attached_bytes: int = 0) -> TableLayout:
    """``attached_bytes``: what the architecture wants for each entry, whole words."""
    keys = [k for k in table.keys if k.match_kind != "selector"]
    kinds, widths = tuple(k.match_kind for k in keys), tuple(width_of(k.value.type) for k in keys)
    actions = []
    end, start = least_bytes(kinds, widths), ENTRY_HEADER_BYTES + key_bytes(kinds, widths)
    for reference in table.actions:
        action = program.action(reference.action)
        cells, action_end = pack_cells(tuple(width_of(p.type) for p in action.parameters), start)
        actions.append(ActionLayout(action.name, cells))
        end = max(end, action_end)
    externs = {e.extern for e in table.attached}
    offsets: list[int | None] = []
    end = round_up(end, WORD_BYTES)
    for present, size in (
        ("direct_counter" in externs, 2 * WORD_BYTES),
        (table.support_timeout, WORD_BYTES),
        (attached_bytes > 0, attached_bytes),
        (not externs.isdisjoint(PROFILES), WORD_BYTES),
    ):
        offsets.append(end if present else None)
        end += size if present else 0
    return TableLayout(
        table.name, number, table.size, widths, kinds, tuple(actions), _stride(end), *offsets
    )  # fmt: skip


def lay_out_value_set(value_set: ir.ValueSet, number: int) -> TableLayout:
    """A parser value set is a table without actions."""
    widths = tuple(width_of(f.type) for f in value_set.fields)
    kinds = tuple(f.match_kind for f in value_set.fields)
    end = _stride(least_bytes(kinds, widths))
    return TableLayout(value_set.name, number, value_set.size, widths, kinds, (), end, None, None, None, None)


def _stride(size_bytes: int) -> int:
    """A small entry lies in one cache line."""
    if size_bytes > CACHE_LINE_BYTES // 2:
        return round_up(size_bytes, CACHE_LINE_BYTES)
    stride = WORD_BYTES
    while stride < size_bytes:
        stride *= 2
    return stride


def _range_keys(widths_bits: tuple[int, ...], kinds: tuple[str, ...]) -> tuple[tuple[RangeKey, ...], int]:
    """The range keys, and the size of a position."""
    found, end = [], POSITION_HEADER_BYTES
    for position, (width, kind) in enumerate(zip(widths_bits, kinds, strict=True)):
        if kind == "range":
            (low, high), end = pack_cells((width, width), end)
            found.append(RangeKey(position, low, high))
    return tuple(found), round_up(end, WORD_BYTES)
