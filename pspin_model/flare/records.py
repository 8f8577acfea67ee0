"""What Flare's handlers find in memory: their parameters in L2, and the layout of a block's place in L1.

A block has a place in the scratchpad of its cluster: control words, then rows of a packet's length. The place's number
travels in the packet's tag, put there by the parser from what the manager told the switch.
"""

from __future__ import annotations

from dataclasses import dataclass

from pspin_model.flare.cost_model import Algorithm
from pspin_model.flare.elements import ELEMENT_TYPES

WORD_BYTES = 8

(
    A_CHILDREN,
    A_BUFFERS,
    A_ROW_BYTES,
    A_CONTROL_WORDS,
    A_PLACES,
    A_PLACE_BYTES,
    A_LOCKS_PER_PLACE,
    A_CLUSTERS_PER_GROUP,
    A_TYPE,
    A_OPERATOR,
    A_PORT,
    A_REMOTE_CYCLES,
    A_REPEATS,
    A_LOG,
    A_LOG_COUNT,
    A_WORDS,
) = range(16)
"""Parameters, int64 words of handler memory. ``A_REPEATS`` counts packets that were in already. ``A_LOG`` is an
instrument outside of the machine: the address of a list of cycles, times two, plus one where a buffer was taken into
use and not given back."""

TYPE_CODES = {name: code for code, name in enumerate(ELEMENT_TYPES)}
INT8, INT16, INT32, FLOAT16, FLOAT32 = (TYPE_CODES[n] for n in ("int8", "int16", "int32", "float16", "float32"))
OPERATOR_CODES = {"sum": 0, "min": 1, "max": 2, "product": 3}
SUM, MIN, MAX, PRODUCT = range(4)

W_COUNT = 0
"""Control word: packets added."""
W_FILLED = 1
"""Control word: bits of the rows that hold something."""
W_CAME = 2
"""First control word of the children's bits, 32 a word (an atomic works on 32 bits)."""
CHILDREN_A_WORD = 32

BLOCK_BITS = 32
"""Of a tag: the block; above it the block's place."""


@dataclass(frozen=True, slots=True)
class PlaceLayout:
    """A block's place in L1. Sizes in bytes unless they say words or rows."""

    row_bytes: int
    rows: int
    control_words: int
    locks: int

    @property
    def bytes(self) -> int:
        """Padded to 64, so that rows begin with a beat."""
        return -(-self.control_words * WORD_BYTES // 64) * 64 + self.rows * self.row_bytes

    @property
    def padded_control_words(self) -> int:
        return -(-self.control_words * WORD_BYTES // 64) * 64 // WORD_BYTES


def place_layout(algorithm: Algorithm, children: int, row_bytes: int, buffers: int) -> PlaceLayout:
    """What a block takes: one row, M rows, or for a tree a row for each pair of children, whose every inner node has a
    control word and every pair a lock."""
    came = -(-children // CHILDREN_A_WORD)
    padded = -(-row_bytes // 64) * 64
    if algorithm is Algorithm.TREE:
        pairs = (children + 1) // 2
        return PlaceLayout(padded, pairs, W_CAME + came + 2 * children, pairs)
    count = buffers if algorithm is Algorithm.MULTI else 1
    return PlaceLayout(padded, count, W_CAME + came, count)
