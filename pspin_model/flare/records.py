"""What Flare's handlers find in memory: their parameters in L2, and the layout of a block's place in L1.

A block has a place in the scratchpad of its cluster: control words, then rows of a packet's length. The place's number
travels in the packet's tag, put there by the parser from what the manager told the switch.
"""

from __future__ import annotations

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
    A_IS_ROOT,
    A_WORDS,
) = range(17)
"""Parameters, int64 words of handler memory. ``A_REPEATS`` counts packets that were in already. ``A_LOG`` is an
instrument outside of the machine: the address of a list of cycles, times two, plus one where a buffer was taken into
use and not given back. ``A_PORT`` is the way up, or of the root (``A_IS_ROOT``) to all children; one child of it has
``A_PORT + 1 +`` its number."""

TYPE_CODES = {name: code for code, name in enumerate(ELEMENT_TYPES)}
INT8, INT16, INT32, FLOAT16, FLOAT32 = (TYPE_CODES[n] for n in ("int8", "int16", "int32", "float16", "float32"))
OPERATOR_CODES = {"sum": 0, "min": 1, "max": 2, "product": 3}
SUM, MIN, MAX, PRODUCT = range(4)

W_COUNT = 0
"""Control word: packets added."""
W_FILLED = 1
"""Control word: bits of the rows that hold something."""
W_DONE = 2
"""Control word: whether the result, then in row 0, was sent."""
W_CAME = 3
"""First control word of the children's bits, 32 a word (an atomic works on 32 bits)."""
CHILDREN_A_WORD = 32

BLOCK_BITS = 32
"""Of a tag: the block; above it the block's place."""
