"""What the sparse handler finds in memory, beyond what the dense ones do (`pspin_model.flare.records`).

A block's place: control words, then M units, then, where repeats are to be answered, the packets that were sent. A
unit is three words, its storage (values, then a key or a bit for each entry), and its spill buffer, a packet laid out
so that it can be sent from there. Behind all places of an L1 each core has two packets' room in which it puts results
together where they need not be kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from pspin_model.flare.records import A_WORDS, CHILDREN_A_WORD, W_ASKER, W_DONE, WORD_BYTES
from pspin_model.flare.sparse.reference import SparseShape
from pspin_model.flare.sparse.wire import EMPTY_BYTES, INDEX_BYTES

(
    A_STORAGE,
    A_ENTRIES,
    A_PROBE,
    A_VALUE_BYTES,
    A_PER_PACKET,
    A_SPILL_ROOM,
    A_FRAGMENT_WORDS,
    A_UNITS_AT,
    A_UNIT_BYTES,
    A_TABLE_AT,
    A_KEYS_AT,
    A_SPILL_AT,
    A_KEPT_AT,
    A_KEPT,
    A_OUT_AT,
    A_OUT_BYTES,
    N_PAIRS,
    N_INSERTED,
    N_MERGED,
    N_PROBES,
    N_SPILLED,
    N_FLUSHES,
    SPARSE_WORDS,
) = range(A_WORDS, A_WORDS + 23)
"""Further parameters. ``A_FRAGMENT_WORDS``: control words for the numbers of a child's fragments, 32 a word;
``A_UNITS_AT`` and ``A_KEPT_AT``: offset in a place, ``A_OUT_AT`` in an L1, the other ``*_AT`` in a unit; ``A_KEPT``:
packets that are kept of a block, of which lost ones go up again at most once in ``A_PAUSE`` cycles; ``N_*`` count,
outside of the machine."""

STORAGE_CODES = {"array": 0, "hash": 1}
ARRAY = STORAGE_CODES["array"]

S_COMPLETE, S_SENT, S_DONE = 0, 1, W_DONE
S_AGAIN, S_CHILDREN = W_ASKER + 1, W_ASKER + 2
"""Control words: children that are complete, fragments sent, whether all are; then those of requests that dense blocks
have, too (`..records`), and when lost fragments went up again. From ``S_CHILDREN`` on for each child: its fragments'
total, when that is known, less those that came; then the bits of their numbers."""

U_STORED, U_SPILLED, U_BEGUN, UNIT_WORDS = range(4)
"""Words of a unit: pairs in its storage, in its spill buffer; whether it has been in use."""

OUT_ROWS = 2
"""Packets that a core may be putting together and sending."""
FRAGMENTS_A_WORD = CHILDREN_A_WORD


@dataclass(frozen=True, slots=True)
class SparseLayout:
    """A block's place in L1, in bytes unless it says words; offsets of table, keys and spill buffer are a unit's."""

    units: int
    control_words: int
    unit_bytes: int
    """What a block takes into use at once."""
    table_at: int
    keys_at: int
    spill_at: int
    kept_bytes: int

    @property
    def units_at(self) -> int:
        return _padded(self.control_words * WORD_BYTES)

    @property
    def kept_at(self) -> int:
        return self.units_at + self.units * self.unit_bytes

    @property
    def bytes(self) -> int:
        return self.kept_at + self.kept_bytes

    @property
    def locks(self) -> int:
        """One for each unit."""
        return self.units


def sparse_layout(shape: SparseShape, fragment_words: int, units: int = 1, kept: int = 0) -> SparseLayout:
    """The slot of a block of that shape with ``units`` units and room for ``kept`` packets."""
    table_at = _padded(UNIT_WORDS * WORD_BYTES)
    keys_at = table_at + _padded(shape.entry_count * shape.dtype.itemsize)
    keys = shape.span // 8 + 4 if shape.storage == "array" else 4 * shape.entry_count
    spill_at = keys_at + _padded(keys)
    spill = 0 if shape.storage == "array" else EMPTY_BYTES + shape.spill_room * (INDEX_BYTES + shape.dtype.itemsize)
    return SparseLayout(
        units=units,
        control_words=S_CHILDREN + shape.children * (1 + fragment_words),
        unit_bytes=spill_at + _padded(spill),
        table_at=table_at,
        keys_at=keys_at,
        spill_at=spill_at,
        kept_bytes=kept * out_bytes(shape.packet_bytes, 1) // OUT_ROWS,
    )


def fragment_words(most_fragments: int) -> int:
    """Control words for a child that sends a number of fragments of a block."""
    return -(-most_fragments // FRAGMENTS_A_WORD)


def out_bytes(packet_bytes: int, cores: int) -> int:
    """Room for the packets that a cluster's cores put together."""
    return OUT_ROWS * cores * _padded(packet_bytes)


def _padded(size: int) -> int:
    return -(-size // 64) * 64
