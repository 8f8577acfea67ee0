"""How values, action data and tables lie in memory: one description for the code that reads and the code that writes.

A *cell* holds one value in the machine's byte order. Widths up to 64 bits take 1, 2, 4 or 8 bytes; wider ones whole
64-bit words, least significant first. Tables are described in ``emulator.p4.llvm.lookup`` and built in
``emulator.switch``.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.p4 import ir
from emulator.p4.ir import width_of as width_of

WORD_BYTES = 8
CACHE_LINE_BYTES = 64


def cell_bytes(width_bits: int) -> int:
    """Size of a cell."""
    for size in (1, 2, 4, 8):
        if width_bits <= size * 8:
            return size
    return round_up((width_bits + 7) // 8, WORD_BYTES)


def round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


@dataclass(frozen=True, slots=True)
class Cell:
    """Where one value lies, relative to the start of its record."""

    offset_bytes: int
    width_bits: int

    @property
    def size_bytes(self) -> int:
        return cell_bytes(self.width_bits)


def pack_cells(widths_bits: tuple[int, ...], start_bytes: int = 0) -> tuple[tuple[Cell, ...], int]:
    """Cells one after the other, each aligned to its size (at most a word), and the end of the last."""
    cells, offset = [], start_bytes
    for width in widths_bits:
        offset = round_up(offset, min(cell_bytes(width), WORD_BYTES))
        cells.append(Cell(offset, width))
        offset += cell_bytes(width)
    return tuple(cells), offset


# A table's record in the table area, in words.
TABLE_GROUPS = 0
"""Address of the mask groups, best first."""
TABLE_GROUP_COUNT = 1
TABLE_ENTRIES = 2
"""Address of the entries; entry 0 is the default action."""
TABLE_WORDS = 4

# A mask group, in words; the mask's words follow.
GROUP_SLOTS = 0
GROUP_SLOT_MASK = 1
"""Number of slots - 1; a power of two."""
GROUP_BEST_RANK = 2
GROUP_HEADER_WORDS = 3

# A slot, in words: the entry's number (0 free) and the masked key's words.
SLOT_ENTRY = 0
SLOT_HEADER_WORDS = 1

# An entry, in bytes; the action's parameters follow, then what `TableLayout` says the table has besides.
ENTRY_RANK = 0
"""u64; the largest of the matching entries wins."""
ENTRY_ACTION = 8
"""u32, index into the table's actions."""
ENTRY_NEXT = 12
"""u32, in tables with range keys: the next entry that has the same masked key (range keys are masked out), of lower
rank; 0 at the end. A slot then holds the first of them."""
ENTRY_PACKETS = 16
ENTRY_BYTES = 24
ENTRY_HEADER_BYTES = 32

# A list of members, in words: what an entry of a table with an action profile points to. Their addresses follow.
MEMBERS_COUNT = 0
MEMBERS_HEADER_WORDS = 1
"""A member is a record with action and parameters where an entry has them. An entry's word of 0 (the default action)
means the entry's own action; a list without members runs nothing."""
NOTHING_RUN = 0xFFFF_FFFF
"""Number of the action that an empty group runs."""

HASH_MULTIPLIER = 0x9E3779B97F4A7C15
"""2**64 divided by the golden ratio, made odd: spreads neighbouring keys (Knuth, volume 3, section 6.4)."""


def hash_words(words: tuple[int, ...]) -> int:
    """The hash that the compiled look-up computes over a masked key."""
    value = 0
    for word in words:
        value = ((value ^ word) * HASH_MULTIPLIER) & 0xFFFF_FFFF_FFFF_FFFF
        value ^= value >> 32
    return value


@dataclass(frozen=True, slots=True)
class ActionLayout:
    """An action as a table's entry holds it."""

    name: str
    parameter_names: tuple[str, ...]
    parameters: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class RangeKey:
    """A range key's place among the match keys, and where an entry holds its bounds, both included."""

    position: int
    low: Cell
    high: Cell


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Shapes and sizes of one table's memory, and its number in the table area."""

    name: str
    number: int
    key_widths_bits: tuple[int, ...]
    """Of the match keys; selector keys are none."""
    match_kinds: tuple[str, ...]
    actions: tuple[ActionLayout, ...]
    entry_bytes: int
    ranges: tuple[RangeKey, ...] = ()
    """In packed keys and masks their bits are 0."""
    last_hit: int | None = None
    """Offset of a u64, the time of the last hit in ns; tables with support_timeout."""
    attached: int | None = None
    """Offset of what the architecture keeps for each entry (v1model: the cell of a direct meter)."""
    members: int | None = None
    """Offset of the address of the list of members; tables with an action profile."""

    @property
    def key_words(self) -> int:
        """Keys are concatenated, first one most significant, and cut into 64-bit words, least significant first."""
        return max(1, -(-sum(self.key_widths_bits) // 64))

    @property
    def is_exact(self) -> bool:
        """Only one mask is possible, so the compiled look-up skips masking."""
        return all(kind == "exact" for kind in self.match_kinds)

    @property
    def group_bytes(self) -> int:
        return (GROUP_HEADER_WORDS + self.key_words) * WORD_BYTES

    @property
    def slot_bytes(self) -> int:
        return (SLOT_HEADER_WORDS + self.key_words) * WORD_BYTES

    def pack_key(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """Field values (or masks) to key words."""
        packed = 0
        for value, width in zip(values, self.key_widths_bits, strict=True):
            packed = packed << width | value
        return tuple(packed >> (64 * i) & 0xFFFF_FFFF_FFFF_FFFF for i in range(self.key_words))


PROFILES = ("action_profile", "action_selector")


def lay_out_table(program: ir.Program, table: ir.Table, number: int, attached_bytes: int = 0) -> TableLayout:
    """``attached_bytes``: what the architecture wants for each entry, whole words."""
    actions, end = [], ENTRY_HEADER_BYTES
    for reference in table.actions:
        action = program.action(reference.action)
        widths = tuple(width_of(p.type) for p in action.parameters)
        cells, action_end = pack_cells(widths, ENTRY_HEADER_BYTES)
        actions.append(ActionLayout(action.name, tuple(p.name for p in action.parameters), cells))
        end = max(end, action_end)
    keys = [k for k in table.keys if k.match_kind != "selector"]
    ranges, end = _range_keys(keys, end)
    end = round_up(end, WORD_BYTES)
    last_hit, end = (end, end + WORD_BYTES) if table.support_timeout else (None, end)
    members, end = (end, end + WORD_BYTES) if any(e.extern in PROFILES for e in table.attached) else (None, end)
    attached, end = (end, end + attached_bytes) if attached_bytes else (None, end)
    return TableLayout(
        table.name,
        number,
        tuple(width_of(k.value.type) for k in keys),
        tuple(k.match_kind for k in keys),
        tuple(actions),
        end,
        ranges,
        last_hit,
        attached,
        members,
    )


def _range_keys(keys: list[ir.TableKey], start_bytes: int) -> tuple[tuple[RangeKey, ...], int]:
    found, end = [], start_bytes
    for position, key in enumerate(keys):
        if key.match_kind == "range":
            width = width_of(key.value.type)
            (low, high), end = pack_cells((width, width), end)
            found.append(RangeKey(position, low, high))
    return tuple(found), end


def lay_out_value_set(value_set: ir.ValueSet, number: int) -> TableLayout:
    """A parser value set is a table without actions: its members match exactly, whatever @match says (bmv2)."""
    widths = tuple(width_of(f.type) for f in value_set.fields)
    return TableLayout(value_set.name, number, widths, ("exact",) * len(widths), (), ENTRY_HEADER_BYTES)
